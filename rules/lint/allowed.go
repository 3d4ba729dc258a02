package lint

import (
	"path"
	"regexp"
	"slices"

	"reconcel/rules/schema"
	"reconcel/rules/source"
)

// namespaces finds namespaces that allow does not include. They can only be right if the
// primary is there too.
func (r *rule) namespaces() {
	if schema.BuiltInGroup(groupOf(r.src.For.APIVersion.Value)) && (r.src.For.Kind.Value == "Namespace" ||
		r.src.For.When != nil) {
		return // The children of a Namespace are in it, and a condition may mean a single primary.
	}
	for _, c := range r.children {
		namespace := c.template.at("metadata", "namespace")
		if text, outside := r.outside(namespace, r.src.Allow.Namespaces); outside {
			c.find(ForeignNamespace, posOf(namespace), "%s: %sallow.namespaces does not include it",
				namespace.where, r.another()).Hint = "add allow: {namespaces: [" + allowText(text) + "]}"
		}
	}
	for _, l := range r.src.Lookups {
		namespace := r.value(l.Namespace, "namespace")
		if text, outside := r.outside(namespace, r.src.Allow.ReadNamespaces); outside {
			r.find(ForeignNamespace, posOf(namespace), "%s: namespace: %sallow.read.namespaces does not include it",
				l.Entry, r.another()).Hint = "add allow: {read: {namespaces: [" + allowText(text) + "]}}"
		}
	}
}

// another says why a namespace must be allowed.
func (r *rule) another() string {
	if r.src.For.Cluster {
		return ""
	}
	return "is another namespace than that of the " + r.src.For.Kind.Value + ", and "
}

// readsNamespace matches expressions that read the namespace of an object, which is mostly
// that of the primary.
var readsNamespace = regexp.MustCompile(`\bmetadata\.\??namespace\b`)

// outside returns a namespace that is not the primary's own and that is not allowed: a
// literal, or a computed one if nothing is allowed at all. "" means all namespaces.
func (r *rule) outside(namespace value, allowed []source.String) (string, bool) {
	key := namespace.key()
	isOwn := func(own source.String) bool { return own.Value == key }
	switch {
	case namespace.isEmptyText():
		return "*", len(allowed) == 0
	case key == "" || slices.ContainsFunc(r.src.For.Namespaces, isOwn):
		return "", false
	case hasExpression(key):
		return "*", len(allowed) == 0 && !readsNamespace.MatchString(key)
	}
	return key, !slices.ContainsFunc(allowed, func(a source.String) bool {
		matches, err := path.Match(a.Value, key)
		return matches || err != nil
	})
}

// allowText returns a namespace or pattern as it is written in a list.
func allowText(namespace string) string {
	if namespace == "*" {
		return `"*"`
	}
	return namespace
}
