package rules

import (
	"reconcel/rules/expr"
	"reconcel/rules/syntax"
)

// A loop is the forEach of a child or condition. Without one it is empty.
type loop struct {
	iterators []iterator
	locals    map[string]int // names of the iterators: indexes of the values of an element
}

// An iterator is one entry of forEach.
type iterator struct {
	in      *expr.Program
	indexed bool // it has a name for the index
}

// compileLoop compiles forEach and returns the names that it puts into scope. The list
// of each may be computed from the elements of those before it.
func (c *childCompiler) compileLoop(forEach []*syntax.Iterator) (l loop, names []string) {
	l.locals = map[string]int{}
	declare := func(name string, shape *expr.Shape) {
		l.locals[name] = len(names)
		names = append(names, name)
		c.shapes[name] = shape
	}
	for _, it := range forEach {
		if it.Unusable {
			continue
		}
		prog := c.expressions.compileIn(c.expressions.scopeWith(names), it.In, expr.List, "forEach")
		var element *expr.Shape
		if prog != nil {
			element = prog.Shape().Any()
		}
		l.iterators = append(l.iterators, iterator{in: prog, indexed: it.Index.Value != ""})
		declare(it.Name.Value, element)
		if it.Index.Value != "" {
			declare(it.Index.Value, nil)
		}
	}
	return l, names
}

// A sameness is what all elements would give if no name of forEach were part of a name.
type sameness struct{ of, gives, where string }

var (
	sameObject    = sameness{"name", "render the same object", "template.metadata.name"}
	sameCondition = sameness{"type", "set the same condition", "type"}
)

// checkIterated records an error for iterators that are not mentioned where each element
// needs a name of its own.
func (c *childCompiler) checkIterated(forEach []*syntax.Iterator, mentioned map[string]bool, same sameness) {
	for _, it := range forEach {
		if it.Unusable || mentioned[it.Name.Value] || it.Index.Value != "" && mentioned[it.Index.Value] {
			continue
		}
		c.expressions.complain(it.Name.Pos, "forEach: %q is not part of the %s: all elements would %s", it.Name.Value,
			same.of, same.gives).Hint =
			"write ${" + it.Name.Value + "...} into " + same.where
	}
}
