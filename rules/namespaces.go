package rules

import (
	"path"
	"slices"
	"strings"

	"reconcel/rules/source"
)

// A Namespace is the namespace of objects, as far as the rules alone define it. Its
// zero value is any namespace.
type Namespace struct {
	OfPrimary bool       // the namespace of the primary
	Name      string     // or a literal namespace
	Pos       source.Pos // of Name
}

// ChildNamespace returns the namespace of a child's objects, if they are
// namespaced.
func (r *Rule) ChildNamespace(c *Child) Namespace { return c.namespace.asNamespace(r.allow.namespaces) }

// LookupNamespace returns the namespace that a lookup reads, if its kind is
// namespaced.
func (r *Rule) LookupNamespace(l *Lookup) Namespace {
	return l.namespace.asNamespace(r.allow.readNamespaces)
}

func (t *text) asNamespace(allowed []string) Namespace {
	if t == nil {
		return Namespace{OfPrimary: true}
	}
	if name, literal := t.literal(); literal {
		return Namespace{Name: name, Pos: t.pos}
	}
	// If the rule allows no other namespaces, rendering rejects them.
	return Namespace{OfPrimary: len(allowed) == 0}
}

// LiteralName returns the name of a child's object, "" if it is computed.
func (c *Child) LiteralName() string {
	name, _ := c.name.literal()
	return name
}

// LiteralName returns the name of the object to look up. It is "" if the name is
// computed, or if there are names or a selector instead.
func (l *Lookup) LiteralName() string {
	name, _ := l.name.literal()
	return name
}

// Reach returns the namespaces that the rule writes to, and whether they are known.
// They are not known if its primaries or children may be in any namespace.
func (r *Rule) Reach() (namespaces []string, known bool) {
	for _, pattern := range r.Namespaces {
		if strings.ContainsAny(pattern, "*?") {
			return nil, false
		}
	}
	for _, c := range r.Children {
		if c.namespace != nil || c.allowed {
			return nil, false
		}
	}
	return r.Namespaces, len(r.Namespaces) > 0
}

// Follows reports whether the rule selects resources in a namespace.
func (r *Rule) Follows(namespace string) bool {
	return len(r.Namespaces) == 0 || matchesAny(r.Namespaces, namespace)
}

// AllowsNamespace reports whether children of the rule may be in a namespace other
// than their primary's.
func (r *Rule) AllowsNamespace(name string) bool { return matchesAny(r.allow.namespaces, name) }

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		ok, err := path.Match(pattern, name)
		return err == nil && ok
	})
}
