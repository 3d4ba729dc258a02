package rules

import (
	"path"
	"slices"
	"strings"

	"reconcel/rules/source"
)

// A Namespace is where objects are, as far as the rules say without a primary.
// Its zero value is any namespace.
type Namespace struct {
	OfPrimary bool       // the primary's own
	Name      string     // or this one,
	Pos       source.Pos // which stands here
}

// ChildNamespace returns the namespace of a child's objects, if they have one.
func (r *Rule) ChildNamespace(c *Child) Namespace { return c.namespace.asNamespace(r.allow.namespaces) }

// LookupNamespace returns the namespace that a lookup reads, if the kind has
// namespaces.
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
	// Another namespace is refused at rendering if none is allowed.
	return Namespace{OfPrimary: len(allowed) == 0}
}

// LiteralName returns the name of a child's object, "" if it is computed.
func (c *Child) LiteralName() string {
	name, _ := c.name.literal()
	return name
}

// LiteralName returns the name of what is looked up, "" if it is computed or a
// selector stands in its place.
func (l *Lookup) LiteralName() string {
	name, _ := l.name.literal()
	return name
}

// Reach returns the namespaces that the rule writes in, and whether they are known.
// They are not if its primaries or children may be in any namespace.
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

// AllowsNamespace reports whether children of the rule may live in a namespace
// that is not their primary's own.
func (r *Rule) AllowsNamespace(name string) bool { return matchesAny(r.allow.namespaces, name) }

// matchesAny reports whether a name matches one of the patterns.
func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		ok, err := path.Match(pattern, name)
		return err == nil && ok
	})
}
