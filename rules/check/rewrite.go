package check

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/decls"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"reconcel/rules/expr"
)

// A looseness says which values of an expression are declared as dyn when it is
// checked again.
type looseness int

const (
	literals   looseness = iota // map literals and null; objects where a map is wanted
	everything                  // all objects that are arguments
)

// A loosener declares values of an expression as dyn.
type loosener struct {
	ast   *ast.AST
	make  ast.ExprFactory
	types map[int64]*types.Type // from the last attempt
	all   *universe
	next  int64
	maps  map[string]*object // those that entriesFunction converts, by name
}

// loosen rewrites a parsed expression. It returns the objects that entriesFunction
// converts in it, by name.
func loosen(a *ast.AST, known map[int64]*types.Type, all *universe, level looseness) map[string]*object {
	l := &loosener{ast: a, make: ast.NewExprFactory(), types: known, all: all, next: ast.MaxID(a) + 1,
		maps: map[string]*object{}}
	var nodes []ast.Expr
	ast.PostOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) { nodes = append(nodes, e) }))
	for _, e := range nodes {
		switch e.Kind() {
		case ast.CallKind:
			l.call(e.AsCall(), level)
			l.step(e)
		case ast.ComprehensionKind:
			l.asMap(e.AsComprehension().IterRange())
		}
	}
	for _, e := range nodes {
		if e.Kind() == ast.MapKind {
			l.wrap(e, "dyn")
		}
	}
	return l.maps
}

// takesObjects are the operators and functions that take objects as well as maps.
var takesObjects = map[string]bool{
	operators.Conditional: true, operators.Equals: true, operators.NotEquals: true, operators.Add: true,
	"orValue": true, "or": true, "optional.of": true, "optional.ofNonZeroValue": true, "value": true, "hasValue": true,
	"dyn": true, operators.NotStrictlyFalse: true,
}

func (l *loosener) call(c ast.CallExpr, level looseness) {
	name := c.FunctionName()
	switch name {
	case operators.OptSelect:
		return
	case operators.Index, operators.OptIndex:
		if _, literal := expr.LiteralString(c.Args()[1]); !literal {
			l.asMap(c.Args()[0])
		}
		return
	}
	args := c.Args()
	if c.IsMemberFunction() {
		args = append(args[:len(args):len(args)], c.Target())
	}
	sum := level == everything && expr.IsListSum(c, l.types)
	for _, arg := range args {
		switch {
		case sum:
			l.wrap(arg, "dyn")
		case arg.Kind() == ast.LiteralKind && arg.AsLiteral() == types.NullValue && takesObjects[name]:
			l.wrap(arg, "dyn")
		case !takesObjects[name]:
			l.asMap(arg)
		case level == everything && l.isObject(arg):
			l.wrap(arg, "dyn")
		}
	}
}

// step turns an index with a literal key into a selection, so that CEL checks that
// the field exists.
func (l *loosener) step(e ast.Expr) {
	c := e.AsCall()
	name := c.FunctionName()
	if name != operators.Index && name != operators.OptIndex {
		return
	}
	key, literal := expr.LiteralString(c.Args()[1])
	if from, _ := unwrapped(l.types[c.Args()[0].ID()]); !literal || l.all.object(from) == nil {
		return
	}
	if name == operators.OptIndex {
		e.SetKindCase(l.make.NewCall(e.ID(), operators.OptSelect, c.Args()...))
		return
	}
	e.SetKindCase(l.make.NewSelect(e.ID(), c.Args()[0], key))
}

// isObject reports whether a node is an object, and not an optional one.
func (l *loosener) isObject(e ast.Expr) bool {
	t := l.types[e.ID()]
	return t != nil && t.Kind() == types.StructKind
}

// asMap converts an object into a map.
func (l *loosener) asMap(e ast.Expr) {
	if !l.isObject(e) {
		return
	}
	if o := l.all.object(l.types[e.ID()]); o != nil && o.entry != nil {
		l.maps[o.name] = o
		l.wrap(e, entriesFunction)
		return
	}
	l.wrap(e, "dyn")
}

func (l *loosener) wrap(e ast.Expr, function string) {
	expr.Wrap(l.ast, e, function, l.next)
	l.next++
}

// entriesFunction converts an object of let into a map, which it is at run time.
// Its name cannot be written in an expression.
const entriesFunction = "@entries"

// withEntries returns a scope in which entriesFunction converts these objects.
func withEntries(sc *expr.TypedScope, objects map[string]*object) *expr.TypedScope {
	if len(objects) == 0 {
		return sc
	}
	var overloads []decls.FunctionOpt
	for name, o := range objects {
		overloads = append(overloads, decls.Overload(entriesFunction+name,
			[]*types.Type{types.NewObjectType(name)}, types.NewMapType(types.StringType, o.entry)))
	}
	f, err := decls.NewFunction(entriesFunction, overloads...)
	if err != nil {
		return sc
	}
	out, err := sc.With(f)
	if err != nil {
		return sc
	}
	return out
}
