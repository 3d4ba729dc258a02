package rules

import (
	"slices"

	"github.com/google/cel-go/common/types"

	"reconcel/rules/expr"
)

// An idCall is a call of a function of the id of a lookup or child.
type idCall struct {
	function expr.IDFunction
	of       variable
}

// idCallValue returns the value of a call.
func (r *variables) idCallValue(call idCall) any {
	if call.of.kind == lookupVariable {
		return r.lookupExists(call.of.index)
	}
	c := &r.result.Children[call.of.index]
	r.expansion.prepareChild(c)
	switch call.function {
	case expr.Existing:
		return r.liveObjects.existing(c)
	case expr.ByKey:
		return r.liveObjects.objectsByKey(c)
	case expr.Exists:
		return c.exists()
	}
	return c.isIncluded()
}

// lookupExists reports whether a looked-up object exists. It is unknown while the name of
// the object is, or the kind cannot be listed.
func (r *variables) lookupExists(i int) any {
	v := r.queries.lookupValue(i)
	switch v.(type) {
	case *types.Err:
		return v
	case *types.Unknown:
		if id := r.rule.Lookups[i].ID; slices.ContainsFunc(r.absent, func(a absence) bool { return a.id == id }) {
			return types.False
		}
		return v
	}
	return types.True
}

// exists reports whether the object of a child exists. It is unknown while its name is.
func (c *ChildResult) exists() any {
	switch {
	case c.excluded():
		return types.False
	case len(c.Objects) == 0 || c.Objects[0].Identity.Name == "":
		return c.Child.gone
	}
	return types.Bool(c.Objects[0].Live.Object != nil)
}

// isIncluded reports whether a child is wanted. It is unknown while its when is, or fails.
func (c *ChildResult) isIncluded() any {
	switch {
	case c.excluded():
		return types.False
	case !c.included:
		return c.Child.gone
	}
	return types.True
}
