package expr

import (
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// indexOf returns the index that a path begins with, and whether the position of the element
// in the list matters.
func indexOf(path []any) (index int, positioned, ok bool) {
	if len(path) == 0 {
		return 0, false, false
	}
	switch step := path[0].(type) {
	case int:
		return step, true, true
	case Member:
		return int(step), false, true
	}
	return 0, false, false
}

// moved returns a path to an element that has another index in another list.
func moved(path []any, index int) []any {
	if _, isMember := path[0].(Member); isMember {
		return below(Member(index), path[1:])
	}
	return below(index, path[1:])
}

// listOf returns the elements of the list that an expression gives, or false for another
// value.
func (n *narrower) listOf(e ast.Expr, at *bound) (all []ref.Val, isList bool) {
	return n.elements(n.value(e, at))
}

// elements returns those of a list, or false for another value.
func (n *narrower) elements(v ref.Val) (all []ref.Val, isList bool) {
	l, isList := v.(traits.Lister)
	if isList {
		n.vars.Silently(func() {
			for it := l.Iterator(); it.HasNext() == types.True; {
				all = append(all, it.Next())
			}
		})
	}
	return all, isList
}

// list narrows a list literal. It lacks an optional element that has no value.
func (n *narrower) list(l ast.ListExpr, isOptional func(i int32) bool, at *bound, path []any, use Use) bool {
	index, positioned, ok := indexOf(path)
	if !ok && use != UsedExtent {
		return false
	}
	next := 0
	for i, item := range l.Elements() {
		present := true
		if isOptional(int32(i)) {
			o, _ := n.value(item, at).(*types.Optional)
			present = o != nil && o.HasValue()
		}
		if ok && present && next == index {
			n.part(item, at, path[1:], use)
			return true
		}
		if isOptional(int32(i)) && (positioned || !ok) {
			n.part(item, at, nil, UsedPresence)
		}
		if present {
			next++
		}
	}
	return !ok
}

// sum narrows the sum of two lists.
func (n *narrower) sum(args []ast.Expr, at *bound, path []any, use Use) bool {
	index, positioned, ok := indexOf(path)
	if !ok && use != UsedExtent {
		return false
	}
	left, isList := n.listOf(args[0], at)
	switch {
	case !isList:
		return false
	case !ok:
		n.part(args[0], at, nil, UsedExtent)
		n.part(args[1], at, nil, UsedExtent)
	case index < len(left):
		n.part(args[0], at, path, use)
	default:
		if positioned {
			n.part(args[0], at, nil, UsedExtent)
		}
		n.part(args[1], at, moved(path, index-len(left)), use)
	}
	return true
}

// index narrows list[index] and map[key].
func (n *narrower) index(args []ast.Expr, at *bound, path []any, use Use) bool {
	of := n.value(args[0], at)
	var step any
	key := n.value(args[1], at)
	if whole, ok := Whole(key); ok {
		key = whole
	}
	switch key := key.(type) {
	case types.Int:
		if _, isList := of.(traits.Lister); !isList {
			return false
		}
		step = int(key)
	case types.String:
		step = string(key)
	default:
		return false
	}
	n.part(args[1], at, nil, UsedValue)
	n.part(args[0], at, below(step, path), use)
	return true
}

// end narrows list.first() and list.last().
func (n *narrower) end(function string, list ast.Expr, at *bound, path []any, use Use) bool {
	all, isList := n.listOf(list, at)
	switch {
	case !isList:
		return false
	case len(all) == 0:
		n.part(list, at, nil, UsedExtent)
	case function == "first":
		n.part(list, at, below(0, path), use)
	default:
		n.part(list, at, nil, UsedExtent)
		n.part(list, at, below(len(all)-1, path), use)
	}
	return true
}

// found narrows `value in list`: if the list has the value, other elements do not matter.
func (n *narrower) found(args []ast.Expr, at *bound) bool {
	all, isList := n.listOf(args[1], at)
	if !isList {
		return false
	}
	n.part(args[0], at, nil, UsedValue)
	wanted := n.value(args[0], at)
	if i := n.find(all, wanted); i >= 0 {
		n.part(args[1], at, []any{Member(i)}, UsedValue)
	} else {
		n.part(args[1], at, nil, UsedValue)
	}
	return true
}

// find returns the index of a value in a list, or -1.
func (n *narrower) find(all []ref.Val, wanted ref.Val) (i int) {
	n.vars.Silently(func() {
		i = slices.IndexFunc(all, func(v ref.Val) bool { return types.Equal(wanted, v) == types.True })
	})
	return i
}

// picked narrows list.distinct() and list.sort() to an element, wherever it is.
func (n *narrower) picked(e, list ast.Expr, at *bound, path []any, use Use) bool {
	index, positioned, ok := indexOf(path)
	out, _ := n.listOf(e, at)
	if !ok || positioned || index >= len(out) {
		return false
	}
	all, _ := n.listOf(list, at)
	i := n.find(all, out[index])
	if i >= 0 {
		n.part(list, at, moved(path, i), use)
	}
	return i >= 0
}

// flattened narrows list.flatten().
func (n *narrower) flattened(list ast.Expr, at *bound, path []any, use Use) bool {
	index, positioned, ok := indexOf(path)
	all, isList := n.listOf(list, at)
	if !isList || !ok && use != UsedExtent {
		return false
	}
	if !ok {
		n.part(list, at, nil, UsedExtent)
	}
	for i, element := range all {
		inner, isNested := n.elements(element)
		size := 1
		if isNested {
			size = len(inner)
		}
		if ok && index < size {
			to := moved(path, i)
			if isNested {
				to = append(moved(path[:1], i), moved(path, index)...)
			}
			n.part(list, at, to, use)
			return true
		}
		if positioned || !ok {
			n.part(list, at, []any{i}, UsedExtent)
		}
		index -= size
	}
	return !ok
}

// A loop is a comprehension over a list that makes a list, or looks for an element.
type loop struct {
	ast.ComprehensionExpr
	at       *bound
	elements []ref.Val
	test     ast.Expr // nil: of all elements
	result   ast.Expr // of an element; nil: it looks for one
	finds    ref.Val  // the result of test that ends the search
}

// loopOf recognizes what the macros make.
func (n *narrower) loopOf(c ast.ComprehensionExpr, at *bound) (l loop, ok bool) {
	l = loop{ComprehensionExpr: c, at: at}
	isAccu := func(e ast.Expr) bool { return e.Kind() == ast.IdentKind && e.AsIdent() == c.AccuVar() }
	if !isAccu(c.Result()) || c.LoopStep().Kind() != ast.CallKind {
		return l, false
	}
	step := c.LoopStep().AsCall()
	if step.FunctionName() == operators.Conditional && isAccu(step.Args()[2]) && step.Args()[1].Kind() == ast.CallKind {
		l.test, step = step.Args()[0], step.Args()[1].AsCall()
	}
	switch added := step.Args(); step.FunctionName() {
	case operators.Add:
		if !isAccu(added[0]) || added[1].Kind() != ast.ListKind || added[1].AsList().Size() != 1 {
			return l, false
		}
		l.result = added[1].AsList().Elements()[0]
	case operators.LogicalOr, operators.LogicalAnd:
		if l.test != nil || !isAccu(added[0]) {
			return l, false
		}
		l.test, l.finds = added[1], types.Bool(step.FunctionName() == operators.LogicalOr)
	default:
		return l, false
	}
	l.elements, ok = n.listOf(c.IterRange(), at)
	return l, ok
}

// comprehension narrows loops and variables.
func (n *narrower) comprehension(e ast.Expr, at *bound, path []any, use Use) bool {
	c := e.AsComprehension()
	if IsBind(c) {
		local := &bound{at, c.AccuVar(), n.value(c.AccuInit(), at), func(path []any, use Use) { n.part(c.AccuInit(), at, path, use) }}
		n.part(c.Result(), local, path, use)
		return true
	}
	l, ok := n.loopOf(c, at)
	switch {
	case !ok:
		return false
	case l.result == nil:
		n.search(l)
		return true
	case use == UsedExtent && len(path) == 0:
		n.part(c.IterRange(), at, nil, UsedExtent)
		n.tests(l, len(l.elements))
		return true
	}
	return n.element(l, path, use)
}

// local returns the variables of a loop for an element.
func (n *narrower) local(l loop, i int) *bound {
	of := func(path []any, use Use) { n.part(l.IterRange(), l.at, below(Member(i), path), use) }
	if !l.HasIterVar2() {
		return &bound{l.at, l.IterVar(), l.elements[i], of}
	}
	index := &bound{l.at, l.IterVar(), types.Int(i), func([]any, Use) { n.part(l.IterRange(), l.at, []any{i}, UsedPresence) }}
	return &bound{index, l.IterVar2(), l.elements[i], of}
}

// tests records the tests of the first elements.
func (n *narrower) tests(l loop, of int) {
	for i := 0; i < of && l.test != nil; i++ {
		n.part(l.test, n.local(l, i), nil, UsedValue)
	}
}

// search records the element that a search has found. If it has found none, all elements
// count.
func (n *narrower) search(l loop) {
	for i := range l.elements {
		if n.value(l.test, n.local(l, i)) == l.finds {
			n.part(l.IterRange(), l.at, []any{Member(i)}, UsedPresence)
			n.part(l.test, n.local(l, i), nil, UsedValue)
			return
		}
	}
	n.part(l.IterRange(), l.at, nil, UsedExtent)
	n.tests(l, len(l.elements))
}

// element records what an element of the result of a loop depends on. Its position depends
// on the tests of those before it.
func (n *narrower) element(l loop, path []any, use Use) bool {
	index, positioned, ok := indexOf(path)
	if !ok {
		return false
	}
	next := 0
	for i := range l.elements {
		local := n.local(l, i)
		if l.test != nil && n.value(l.test, local) != types.True {
			continue
		}
		if next++; next <= index {
			continue
		}
		if positioned {
			n.tests(l, i)
		}
		n.part(l.IterRange(), l.at, moved(path[:1], i), UsedPresence)
		if l.test != nil {
			n.part(l.test, local, nil, UsedValue)
		}
		n.part(l.result, local, path[1:], use)
		return true
	}
	return false
}
