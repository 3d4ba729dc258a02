package reference

import (
	"cmp"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
)

// A comparison has words for itself and for its opposite.
type comparison struct {
	yes, no string
	accepts func(order int) bool
}

var comparisons = map[string]comparison{
	operators.Equals:        {" is ", " is not ", func(order int) bool { return order == 0 }},
	operators.NotEquals:     {" is not ", " is ", func(order int) bool { return order != 0 }},
	operators.Less:          {" is less than ", " is at least ", func(order int) bool { return order < 0 }},
	operators.LessEquals:    {" is at most ", " is more than ", func(order int) bool { return order <= 0 }},
	operators.Greater:       {" is more than ", " is at most ", func(order int) bool { return order > 0 }},
	operators.GreaterEquals: {" is at least ", " is less than ", func(order int) bool { return order >= 0 }},
}

// sayCompared puts a comparison into words.
func (p *phrasing) sayCompared(call ast.CallExpr, c comparison, s sense) (Text, bool) {
	left, ok := p.value(call.Args()[0])
	right, okRight := p.value(call.Args()[1])
	if !ok || !okRight || right.absent != nil {
		return nil, false
	}
	if p.unchanged(call) && call.FunctionName() == operators.Equals {
		return compose(left.text, s.choose(" does not change", " changes")), true
	}
	if n := literalOf(call.Args()[1]); left.size && n == int64(0) {
		return sayEmpty(left, c, s)
	}
	words := compose(left.subject(), s.choose(c.yes, c.no), right.subject())
	if left.absent == nil {
		return words, true
	}
	order, alike := compareLiterals(literalOf(left.absent), literalOf(call.Args()[1]))
	if !alike {
		return nil, false
	}
	if c.accepts(order) != (s == holds) {
		return words, true
	}
	return compose(words, " or not set"), true
}

// unchanged reports whether a comparison is one of a field with its previous value.
func (p *phrasing) unchanged(call ast.CallExpr) bool {
	root, path, _ := pathOf(call.Args()[0])
	old, oldPath, _ := pathOf(call.Args()[1])
	return p.rule == nil && root == "self" && old == "oldSelf" && path == oldPath
}

// sayEmpty puts a comparison of a size with 0 into words.
func sayEmpty(of value, c comparison, s sense) (Text, bool) {
	zero, more := c.accepts(0) == (s == holds), c.accepts(1) == (s == holds)
	if zero == more {
		return nil, false
	}
	if zero {
		return compose(of.text, " is empty"), true
	}
	return compose(of.text, " is not empty"), true
}

// subject returns the words for a value in a comparison.
func (v value) subject() Text {
	if v.size {
		return compose("the length of ", v.text)
	}
	return v.text
}

// compareLiterals compares two literals of one type.
func compareLiterals(a, b any) (order int, alike bool) {
	switch a := a.(type) {
	case string:
		b, ok := b.(string)
		return cmp.Compare(a, b), ok
	case int64:
		b, ok := b.(int64)
		return cmp.Compare(a, b), ok
	case float64:
		b, ok := b.(float64)
		return cmp.Compare(a, b), ok
	case bool:
		b, ok := b.(bool)
		if a == b {
			return 0, ok
		}
		return 1, ok
	}
	return 0, false
}

// sayIn puts the membership in a list into words.
func (p *phrasing) sayIn(call ast.CallExpr, s sense) (Text, bool) {
	of, ok := p.value(call.Args()[0])
	if !ok || of.absent != nil {
		return nil, false
	}
	in := call.Args()[1]
	if in.Kind() != ast.ListKind {
		list, ok := p.value(in)
		return compose(of.text, s.choose(" is in ", " is not in "), list.text), ok && list.absent == nil
	}
	var all []Text
	for _, e := range in.AsList().Elements() {
		v, ok := p.value(e)
		if !ok {
			return nil, false
		}
		all = append(all, v.text)
	}
	return compose(of.text, s.choose(" is ", " is not "), enumerate("or", all)), len(all) > 0
}
