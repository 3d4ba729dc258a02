package rules

import (
	"slices"
	"strconv"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/traits"

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

// objectsByKey returns the existing objects of forEach by the keys of their elements. It is
// unknown while the elements are.
func (r *liveObjects) objectsByKey(c *ChildResult) any {
	switch {
	case c.State == Excluded:
		return map[string]any{}
	case c.State != Rendered:
		return expr.NewIncomplete(c.Child.ID + " (" + c.whyUnsettled() + ")")
	case c.byKey != nil:
		return c.byKey
	}
	objects := make(map[string]any, len(c.Objects))
	taken := make(map[string]bool, len(c.Objects))
	for i := range c.Objects {
		key, ok := c.Objects[i].key()
		if !ok {
			return c.keyError("an element has no key: it must be a text or whole number, or have a name")
		}
		if taken[key] {
			return c.keyError("two elements have the same key")
		}
		taken[key] = true
		if o := c.Objects[i].Live.Object; o != nil {
			objects[key] = r.object(c.Child.GVK, o)
		}
	}
	if c.prepared {
		c.byKey = objects
	}
	return objects
}

func (c *ChildResult) keyError(why string) any {
	return types.WrapErr(&expr.Error{Pos: c.Child.Pos, Message: "byKey(" + c.Child.ID + "): " + why})
}

// key returns the key of the element of an object: of several iterators, all keys with a
// slash between them.
func (d *Desired) key() (string, bool) {
	var keys []string
	at := 0
	for _, it := range d.Child.iterators {
		key, ok := keyOf(plainElement(d.values[at]))
		if !ok {
			return "", false
		}
		keys = append(keys, key)
		if at++; it.indexed {
			at++
		}
	}
	return strings.Join(keys, "/"), true
}

// keyOf returns the key of an element: the text or number, its name, or the name of an
// object.
func keyOf(element any) (string, bool) {
	switch e := element.(type) {
	case types.String:
		return string(e), true
	case types.Int:
		return strconv.FormatInt(int64(e), 10), true
	case types.Double:
		whole, ok := expr.Whole(e)
		return strconv.FormatInt(int64(whole), 10), ok
	case traits.Mapper:
		if name, ok := e.Find(types.String("name")); ok {
			return keyOf(name)
		}
		metadata, _ := e.Find(types.String("metadata"))
		if m, ok := metadata.(traits.Mapper); ok {
			name, _ := m.Find(types.String("name"))
			text, ok := name.(types.String)
			return string(text), ok
		}
	}
	return "", false
}
