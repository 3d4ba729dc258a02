package rules

import (
	"slices"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"reconcel/rules/expr"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// An iterator is one entry of forEach.
type iterator struct {
	in      *expr.Program
	indexed bool // it has a name for the index
}

// iterators compiles forEach and returns the names that it puts into scope.
// The list of each may be made from the elements of those before it.
func (c *compiler) iterators(ch *Child, s *syntax.Child) []string {
	var names []string
	ch.locals = map[string]int{}
	declare := func(name string, shape *expr.Shape) {
		ch.locals[name] = len(names)
		names = append(names, name)
		c.shapes[name] = shape
	}
	for _, it := range s.ForEach {
		if it.Unfit {
			continue
		}
		prog := c.compileIn(c.with(it.Pos, names), it.In, expr.List, "forEach")
		var element *expr.Shape
		if prog != nil {
			element = prog.Shape().Any()
		}
		ch.iterators = append(ch.iterators, iterator{in: prog, indexed: it.Index.Value != ""})
		declare(it.Name.Value, element)
		if it.Index.Value != "" {
			declare(it.Index.Value, nil)
		}
	}
	return names
}

// with returns the rule's scope with more names.
func (c *compiler) with(pos source.Pos, names []string) *expr.Scope {
	if len(names) == 0 {
		return c.scope
	}
	scope, err := expr.NewScope(append(slices.Clone(names), c.declared...)...)
	if err != nil {
		c.complain(pos, "the names cannot be used together: %v", err)
		return c.scope
	}
	return scope
}

// expandEach adds an object for each element, or for each combination of the
// elements of several lists.
func (r *run) expandEach(c *ChildResult) {
	if c.State != Rendered {
		return // Nothing may be removed, whatever the list says.
	}
	scratch := Desired{Child: c.Child}
	r.current = &scratch
	r.iterate(c, &scratch, 0)
	if c.State != Rendered {
		r.objects -= len(c.Objects)
		c.Objects = c.Objects[:0]
		return
	}
	for i := range c.Objects {
		r.identify(&c.Objects[i])
	}
}

// iterate runs through the lists from depth on.
func (r *run) iterate(c *ChildResult, at *Desired, depth int) {
	if depth == len(c.Child.iterators) {
		d := r.add(c)
		d.values = append(d.values, at.values...)
		return
	}
	it := &c.Child.iterators[depth]
	list := r.elements(c, it.in)
	if !r.Work(perCombination + len(list)) {
		r.settleAll(c, "forEach", result{err: &expr.Error{Pos: it.in.Pos(), Message: tooManyCombinations}})
		return
	}
	mark := len(at.values)
	for i, element := range list {
		if c.State != Rendered || !r.room(c, 1, "forEach", it.in.Pos()) {
			return
		}
		at.values = append(at.values[:mark], element)
		if it.indexed {
			at.values = append(at.values, types.Int(i))
		}
		r.iterate(c, at, depth+1)
	}
	at.values = at.values[:mark]
}

// elements evaluates the list of an iterator. What is no list, or is not there
// yet, settles the child.
func (r *run) elements(c *ChildResult, p *expr.Program) []ref.Val {
	v, err := r.eval(p)
	if err != nil {
		r.settleAll(c, "forEach", result{err: err})
		return nil
	}
	message := "must be a list, but the value is absent: give it a default with orValue([])"
	if v, ok := unwrap(v); ok {
		if u, ok := v.(*types.Unknown); ok {
			r.settleAll(c, "forEach", result{unknown: u})
			return nil
		}
		if list, ok := v.(traits.Lister); ok {
			var out []ref.Val
			for it := list.Iterator(); it.HasNext() == types.True; {
				element := it.Next()
				if u, ok := element.(*types.Unknown); ok {
					r.settleAll(c, "forEach", result{unknown: u})
					return nil
				}
				out = append(out, element)
			}
			return out
		}
		message = "must be a list, got " + typeName(v)
	}
	r.settleAll(c, "forEach", result{err: &expr.Error{Pos: p.Pos(), Message: message}})
	return nil
}

// listed reports the iterators that a child's name and namespace do not
// mention: two elements would be one object.
func (c *compiler) listed(s *syntax.Child, mentioned map[string]bool) {
	for _, it := range s.ForEach {
		if it.Unfit || mentioned[it.Name.Value] || it.Index.Value != "" && mentioned[it.Index.Value] {
			continue
		}
		e := c.complain(it.Name.Pos, "forEach: %q is not part of the name: all elements would be one object", it.Name.Value)
		e.Hint = "write ${" + it.Name.Value + "...} into template.metadata.name"
	}
}
