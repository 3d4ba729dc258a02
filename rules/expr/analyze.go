package expr

import (
	"maps"
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
)

// An analyzer walks an expression once. For every value in it, it finds the paths in
// variables from which that value may come.
type analyzer struct {
	scope  *Scope
	shapes map[string]*Shape // of variables in scope
	locals []local
	steps  map[int64]*step // by the id of the selection or index
	reads  map[string]bool // variables that the expression mentions
	// ranges are what loops run over, by id. The planner extends a chain of steps one
	// by one (true), and offers it for decoration before it is complete.
	ranges  map[int64]bool
	twice   []duplicateKey
	idCalls map[int64]idCall       // by id
	calls   map[int64]ast.CallExpr // by id
	logic   map[int64]bool         // the sides of && and ||, by id
	needed  map[int64]bool         // the && that must be true for the expression to be true, by id
	result  *Shape                 // of the whole expression
}

// A local is a variable of a comprehension.
type local struct {
	name  string
	shape *Shape
}

// A duplicateKey is a key that a map literal has twice.
type duplicateKey struct {
	id  int64
	key string
}

// passOn lists the functions whose result is one of their arguments, or consists of
// parts of them.
var passOn = map[string]bool{
	"orValue": true, "or": true, "value": true, "optional.of": true, "optional.ofNonZeroValue": true,
	"optional.unwrap": true, "unwrapOpt": true, "dyn": true, "merge": true, "deepMerge": true, "mergeBy": true,
	MergeApply: true, operators.Add: true, Present: true,
}

// Reorders reports whether the result of a function is a list of some elements of its
// target or first argument.
func Reorders(function string) bool {
	switch function {
	case "sort", "reverse", "distinct", "slice", removeAtIndex, sortBy:
		return true
	}
	return false
}

// variables returns the variables that the expression mentions, sorted.
func (a *analyzer) variables() []string { return slices.Sorted(maps.Keys(a.reads)) }

func (a *analyzer) shape(e ast.Expr) *Shape {
	switch e.Kind() {
	case ast.IdentKind:
		return a.ident(e.AsIdent())
	case ast.SelectKind:
		return a.selectField(e)
	case ast.CallKind:
		return a.call(e)
	case ast.ListKind:
		return a.listLiteral(e.AsList())
	case ast.MapKind:
		return a.mapLiteral(e)
	case ast.StructKind:
		var parts []*Shape
		for _, f := range Parts(e) {
			parts = append(parts, a.shape(f))
		}
		return Computed(parts...)
	case ast.ComprehensionKind:
		return a.comprehension(e.AsComprehension())
	}
	return nil
}

func (a *analyzer) ident(name string) *Shape {
	for i := len(a.locals) - 1; i >= 0; i-- {
		if a.locals[i].name == name {
			return a.locals[i].shape
		}
	}
	if a.scope.has(name) {
		a.reads[name] = true
		return a.shapes[name]
	}
	return nil // A type, or an undeclared name.
}

func (a *analyzer) selectField(e ast.Expr) *Shape {
	sel := e.AsSelect()
	operand := a.shape(sel.Operand())
	a.note(e.ID(), &step{key: sel.FieldName(), test: sel.IsTestOnly()}, operand, operand.named(sel.FieldName()))
	field := operand.field(sel.FieldName())
	if sel.IsTestOnly() {
		return (*Shape)(nil).with(field.extent())
	}
	return field
}

func (a *analyzer) call(e ast.Expr) *Shape {
	c := e.AsCall()
	a.calls[e.ID()] = c
	if isLogic(c) {
		for _, side := range c.Args() {
			a.logic[side.ID()] = true
		}
	}
	var args []*Shape
	for _, arg := range Parts(e) {
		args = append(args, a.shape(arg))
	}
	if f, ok := idFunctionOf(c.FunctionName()); ok {
		return a.noteIDCall(f, e.ID(), c.Args()[0], args[0])
	}
	switch name := c.FunctionName(); {
	case isIndex(e):
		return a.index(e, args[0], args[1])
	case name == operators.Conditional:
		return joinShapes(args[1], args[2]).with(args[0].wholes())
	case name == "cel.@mapInsert": // (map, key, value) or (map, map)
		if len(args) == 2 {
			return joinShapes(args[0], args[1])
		}
		return joinShapes(args[0], &Shape{elem: args[2], from: args[1].wholes()})
	case name == "first" || name == "last":
		return args[0].Any()
	case name == "flatten":
		return joinShapes(args[0], args[0].Any())
	case name == setAtIndex || name == insertAtIndex:
		return (&Shape{elem: joinShapes(args[0].Any(), args[2])}).with(args[1].wholes())
	case Reorders(name):
		return (&Shape{elem: args[0].Any()}).with(Computed(args[1:]...).wholes())
	case passOn[name]:
		var s *Shape
		for _, arg := range args {
			s = joinShapes(s, arg)
		}
		return s
	case readsExtent(name):
		return (*Shape)(nil).with(args[0].extent())
	case name == operators.In:
		return Computed(args[0]).with(args[1].members())
	case name == operators.Equals || name == operators.NotEquals:
		for i, arg := range c.Args() {
			if arg.Kind() == ast.LiteralKind && arg.AsLiteral() == types.NullValue {
				return (*Shape)(nil).with(args[1-i].extent())
			}
		}
	}
	return Computed(args...)
}

// readsExtent reports whether a function reads no more of a value than whether it exists, and how many elements it has.
func readsExtent(function string) bool { return function == overloads.Size || function == "hasValue" }

func (a *analyzer) index(e ast.Expr, operand, keys *Shape) *Shape {
	key := e.AsCall().Args()[1]
	if key.Kind() == ast.LiteralKind {
		switch k := key.AsLiteral().(type) {
		case types.String:
			a.note(e.ID(), &step{key: string(k)}, operand, operand.named(string(k)))
			return operand.field(string(k))
		case types.Int:
			a.note(e.ID(), &step{}, operand, operand.at(int64(k)))
			return operand.index(int64(k))
		}
	}
	a.note(e.ID(), &step{shown: keys.isOf(selfName)}, operand, operand.somewhere())
	return operand.Any().with(keys.wholes())
}

// note records a step from the operand to a path.
func (a *analyzer) note(id int64, st *step, operand, target *Shape) {
	st.id = id
	st.rooted = len(target.liveTrails()) > 0
	if operand != nil {
		target = joinShapes(target, operand.elem)
	}
	st.trails = target.liveTrails()
	a.steps[id] = st
}

func (a *analyzer) listLiteral(l ast.ListExpr) *Shape {
	s := &Shape{}
	for i, item := range l.Elements() {
		element := a.shape(item)
		s.elem = joinShapes(s.elem, element)
		if l.IsOptional(int32(i)) {
			s = s.with(element.extent())
		}
	}
	return s
}

func (a *analyzer) mapLiteral(e ast.Expr) *Shape {
	s := &Shape{fields: map[string]*Shape{}}
	seen := map[any]bool{}
	for _, item := range e.AsMap().Entries() {
		entry := item.AsMapEntry()
		s.from = unionReads(s.from, a.shape(entry.Key()).wholes())
		value := a.shape(entry.Value())
		if entry.IsOptional() {
			s.from = unionReads(s.from, value.extent())
		}
		if entry.Key().Kind() != ast.LiteralKind {
			s.elem = joinShapes(s.elem, value)
			continue
		}
		key := entry.Key().AsLiteral()
		if name, ok := key.(types.String); ok {
			s.fields[string(name)] = joinShapes(s.fields[string(name)], value)
			if seen[string(name)] {
				a.twice = append(a.twice, duplicateKey{entry.Key().ID(), string(name)})
			}
			seen[string(name)] = true
		}
	}
	return s
}

// comprehension declares the variables of a loop and walks its parts. One walk of
// the loop step is enough: expressions cannot name the accumulator, so that a second
// walk would add nothing.
func (a *analyzer) comprehension(c ast.ComprehensionExpr) *Shape {
	over := a.shape(c.IterRange())
	accu := a.shape(c.AccuInit())
	if over := c.IterRange(); !IsBind(c) {
		a.ranges[over.ID()] = over.Kind() == ast.SelectKind || isIndex(over)
	}
	mark := len(a.locals)
	a.locals = append(a.locals, local{c.AccuVar(), accu})
	if c.HasIterVar2() {
		a.locals = append(a.locals, local{c.IterVar(), nil}, local{c.IterVar2(), over.Any()})
	} else {
		a.locals = append(a.locals, local{c.IterVar(), over.Any()})
	}
	decides := unionReads(over.extent(), a.shape(c.LoopCondition()).wholes())
	accu = joinShapes(accu, a.shape(c.LoopStep()))
	a.locals = append(a.locals[:mark], local{c.AccuVar(), accu})
	result := a.shape(c.Result())
	a.locals = a.locals[:mark]
	return result.with(decides)
}
