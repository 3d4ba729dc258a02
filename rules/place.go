package rules

// A Place says in which namespace objects may be, as far as the rules tell of it
// without a resource. Its zero value is any namespace.
type Place struct {
	Home bool   // the primary's own
	Name string // or this one
}

// ChildPlace returns where the objects of a child may be, if they have a
// namespace.
func (r *Rule) ChildPlace(c *Child) Place { return placeOf(c.namespace, r.allow.namespaces) }

// LookupPlace returns where a lookup may look, if what it reads has a namespace.
func (r *Rule) LookupPlace(l *Lookup) Place { return placeOf(l.namespace, r.allow.readNamespaces) }

func placeOf(t *text, allowed []string) Place {
	name, literal := t.literal()
	switch {
	case t == nil:
		return Place{Home: true}
	case literal:
		return Place{Name: name}
	}
	// What comes out as another namespace is refused where none is allowed.
	return Place{Home: len(allowed) == 0}
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
