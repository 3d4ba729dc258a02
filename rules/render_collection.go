package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"

	"reconcel/rules/expr"
)

// liveObjects are the primary's objects that exist, as expressions read them.
type liveObjects struct{ *runState }

// A collection is a child with any number of objects. In expressions it is a list.
// The list is unknown while one object is missing, because a statement about all
// objects must not be computed from some of them. existing() returns the objects
// that exist so far.

// collection returns the value of a collection. An excluded one is an empty list.
// While the primary is deleted, missing objects may never be created, so entries of
// finalize get the objects that exist.
func (r *liveObjects) collection(c *ChildResult) any {
	if why := c.incomplete(); why != "" && !r.ending {
		return expr.NewIncomplete(c.Child.ID + " (" + why + ")")
	}
	return r.existing(c)
}

// incomplete returns why objects of a child are missing, or "".
func (c *ChildResult) incomplete() string {
	if c.State == Excluded {
		return ""
	}
	if c.State != Rendered {
		return c.whyUnsettled()
	}
	there, wanted := 0, 0
	for i := range c.Objects {
		if d := &c.Objects[i]; d.State != Excluded {
			wanted++
			if d.Live.Object != nil {
				there++
			}
		}
	}
	if there == wanted {
		return ""
	}
	return fmt.Sprintf("%d of %d exist", there, wanted)
}

// existing returns the existing objects, sorted by name: the desired ones or, while
// these are not known, all that were created for the child. It builds the list once
// per rendering.
func (r *liveObjects) existing(c *ChildResult) []any {
	if c.existing != nil {
		return c.existing
	}
	list := make([]any, 0, len(c.Objects))
	if (c.State == Waiting || c.State == Failed) && !c.Child.HasReplicas() {
		owned, _ := r.owned(c.Child)
		list = r.appendObjects(list, c.Child, owned)
	} else {
		for i := range c.Objects {
			if o := c.Objects[i].Live.Object; o != nil {
				list = append(list, r.object(c.Child.GVK, o))
			}
		}
	}
	sortByName(list)
	if c.prepared {
		c.existing = list
	}
	return list
}

func (r *liveObjects) appendObjects(list []any, of *Child, all []Live) []any {
	for _, live := range all {
		if live.Object != nil {
			list = append(list, r.object(of.GVK, live.Object))
		}
	}
	return list
}

func sortByName(list []any) {
	slices.SortFunc(list, func(a, b any) int {
		x, y := identityOf(a.(map[string]any)), identityOf(b.(map[string]any))
		return cmp.Or(strings.Compare(x.name, y.name), strings.Compare(x.namespace, y.namespace))
	})
}

// enterChild sets the child whose expressions are evaluated next, or nil. Collections
// have other values in an entry of finalize.
func (r *run) enterChild(c *ChildResult) {
	ending := c != nil && c.Child.Timeout > 0 && r.result.Teardown
	if ending == r.ending {
		return
	}
	r.ending = ending
	clear(r.lets) // Lets may be computed from collections.
}

// forgetWaiting discards the lets that wait. When they are computed again, the
// child that they wait for may be excluded.
func (r *run) forgetWaiting() {
	for i := range r.lets {
		if v, ok := r.lets[i].value.(*types.Unknown); ok && v != nil {
			r.lets[i] = letValue{}
		}
	}
}

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
