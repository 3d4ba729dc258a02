package lint

import (
	"strings"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules/schema"
	"reconcel/rules/source"
)

// identity returns a text that is equal for two objects of the same kind only if they
// are the same object, or "" if the template does not give the name.
func (c *child) identity() string {
	switch {
	case c.name == "":
		return ""
	case c.namespace == "${self.metadata.namespace}":
		return "/" + c.name
	}
	return c.namespace + "/" + c.name
}

// sameObjects finds two children that are always the same object. Two children that
// both have a when may exclude each other. Rules do not load if both names are literal.
func (r *rule) sameObjects() {
	earlier := map[objectKey][]*child{}
	for _, c := range r.children {
		key := objectKey{c.gk, c.identity()}
		if key.identity == "" || c.Replicas != nil {
			continue
		}
		for _, other := range earlier[key] {
			if c.When != nil && other.When != nil || c.finalizes != other.finalizes || !c.sameObjects(other) {
				continue
			}
			name, first := c.template.at("metadata", "name"), other.template.at("metadata", "name")
			c.find(SameObject, posOf(name), "%s: %s has the same kind, namespace and name, at %s", name.where, other.Entry,
				posOf(first))
			break
		}
		earlier[key] = append(earlier[key], c)
	}
}

// An objectKey is equal for two children that may be the same object.
type objectKey struct {
	gk       runtimeschema.GroupKind
	identity string
}

// literalName finds names that the objects of all resources share. The second resource
// cannot have its object.
func (c *child) literalName() {
	r := c.in
	name := c.template.at("metadata", "name")
	text, literal := name.text()
	if !literal || c.Replicas != nil || len(r.versionsOf(c.gk)) == 0 ||
		schema.BuiltInGroup(groupOf(r.src.For.APIVersion.Value)) || r.set.Scope(c.gk) != schema.Namespaced || r.selectsOne() {
		return
	}
	if strings.HasPrefix(c.identity(), "/") || !hasExpression(c.namespace) {
		hint := "such as ${self.metadata.name}-" + text
		if !schema.Replaceable(c.gk) {
			hint = "in new rules, write such as ${self.metadata.name}-" + text + "; in rules that run, a new name deletes the " +
				c.gk.Kind + " with the data that it holds: keep the name, and silence this check"
		}
		c.find(LiteralName, posOf(name), "%s: every %s has a %s %q, and in one namespace they are the same object",
			name.where, r.src.For.Kind.Value, c.gk.Kind, text).Hint = hint
	}
}

// selectsOne reports whether the rule may be for a single object.
func (r *rule) selectsOne() bool {
	return r.src.For.Cluster || r.readsName(r.src.For.When, map[*source.Expr]bool{})
}

// readsName reports whether an expression reads metadata.name, directly or through lets.
func (r *rule) readsName(e *source.Expr, followed map[*source.Expr]bool) bool {
	if e == nil || followed[e] {
		return false
	}
	followed[e] = true
	if strings.Contains(e.Text, "metadata.name") {
		return true
	}
	for _, path := range paths.FindAllString(quoted.ReplaceAllString(e.Text, `""`), -1) {
		let, fields, _ := strings.Cut(path, ".")
		for inner := range r.expressionsOf(let, fields) {
			if r.readsName(inner, followed) {
				return true
			}
		}
	}
	return false
}

func groupOf(apiVersion string) string {
	group, _, found := strings.Cut(apiVersion, "/")
	if !found {
		return ""
	}
	return group
}
