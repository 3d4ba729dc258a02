package rules

import "reconcel/rules/expr"

// previous returns the value of previous(): the live objects of a child, sorted by name. It
// does not depend on what the rule renders for the child, so a child may read its own.
func (r *liveObjects) previous(c *ChildResult) any {
	if c.previous != nil {
		return c.previous
	}
	owned, err := r.owned(c.Child)
	if err != nil {
		return expr.NewIncomplete(expr.Previous.Variable(c.Child.ID) + " (" + err.Error() + ")")
	}
	c.previous = r.appendObjects(make([]any, 0, len(owned)), c.Child, owned)
	sortByName(c.previous)
	return c.previous
}

// owned returns the live objects of a child.
func (r *liveObjects) owned(c *Child) ([]Live, error) {
	if r.in.Owned == nil {
		return nil, nil
	}
	all, err := r.in.Owned(r.rule, c)
	return r.recalledAll(c, all), err
}
