package lint

import (
	"strings"

	"reconcel/rules/schema"
)

// identity returns a text that is equal for two objects of the same kind only if they
// are the same object, or "" if the template does not give the name.
func (c *child) identity() string {
	name := c.template.at("metadata", "name").key()
	if name == "" {
		return ""
	}
	namespace := c.template.at("metadata", "namespace").key()
	if namespace == "${self.metadata.namespace}" {
		namespace = ""
	}
	return namespace + "/" + name
}

// sameObjects finds two children that are always the same object. Two children that
// both have a when may exclude each other. Rules do not load if both names are literal.
func (r *rule) sameObjects() {
	for i, c := range r.children {
		for _, other := range r.children[:i] {
			if c.gk != other.gk || c.identity() == "" || c.identity() != other.identity() || c.Replicas != nil ||
				c.When != nil && other.When != nil || c.finalizes != other.finalizes || !c.sameObjects(other) {
				continue
			}
			name, first := c.template.at("metadata", "name"), other.template.at("metadata", "name")
			c.find(SameObject, posOf(name), "%s: %s has the same kind, namespace and name, at %s", name.where, other.Entry, posOf(first))
			break
		}
	}
}

// literalName finds names that the objects of all resources share. The second resource
// cannot have its object.
func (c *child) literalName() {
	r := c.in
	name := c.template.at("metadata", "name")
	text, literal := name.text()
	if !literal || len(r.set.Versions(c.gk)) == 0 || schema.BuiltInGroup(groupOf(r.src.For.APIVersion.Value)) || r.set.Scope(c.gk) != schema.Namespaced || r.selectsOne() {
		return
	}
	if namespace := c.template.at("metadata", "namespace"); strings.HasPrefix(c.identity(), "/") || !hasExpression(namespace.key()) {
		c.find(LiteralName, posOf(name), "%s: every %s has a %s %q, and in one namespace they are the same object", name.where, r.src.For.Kind.Value, c.gk.Kind, text).Hint =
			"such as ${self.metadata.name}-" + text
	}
}

// selectsOne reports whether the rule may be for a single object.
func (r *rule) selectsOne() bool {
	when := r.src.For.When
	return when != nil && strings.Contains(when.Text, "metadata.name")
}

func groupOf(apiVersion string) string {
	group, _, found := strings.Cut(apiVersion, "/")
	if !found {
		return ""
	}
	return group
}
