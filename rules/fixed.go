package rules

import "reconcel/rules/source"

// FixedNamespace returns the namespace in which all objects of the child live,
// and where that is said; "" if it is the primary's own, computed or none.
func (c *Child) FixedNamespace() (string, source.Pos) { return c.namespace.fixed() }

// FixedNamespace returns the namespace that the lookup reads, and where that is
// said; "" if it is the primary's own, computed or all of them.
func (l *Lookup) FixedNamespace() (string, source.Pos) { return l.namespace.fixed() }

func (t *text) fixed() (string, source.Pos) {
	s, ok := t.literal()
	if !ok {
		return "", source.Pos{}
	}
	return s, t.pos
}
