package check

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"reconcel/rules/expr"
	"reconcel/rules/source"
)

// expression compares an expression with the schema of its field, part by part, so
// that complaints are about parts.
func (w walker) expression(t *typed, e ast.Expr, p *fieldSchema, where string) {
	if p == nil || w.depth > maxDepth {
		return
	}
	w.depth++
	if n := w.follower.dataAt(t, e); n != nil {
		w.value(n, p, where)
		return
	}
	if l := w.follower.letOf(t, e); l != nil {
		w.letValue(l, t, e, p, where)
		return
	}
	switch e.Kind() {
	case ast.LiteralKind:
		w.literal(t, e, p, where)
	case ast.MapKind:
		w.mapLiteral(t, e, p, where)
	case ast.ListKind:
		w.listLiteral(t, e, p, where)
	case ast.CallKind:
		w.call(t, e, p, where)
	case ast.ComprehensionKind:
		w.comprehension(t, e, p, where)
	default:
		w.byType(t, e, p, where)
	}
}

// byType compares the type of an expression, and the fields of a map of let.
func (w walker) byType(t *typed, e ast.Expr, p *fieldSchema, where string) {
	if !w.scalars.wants(t.pos(e), p, t.typeOf(e), where) {
		return
	}
	o := w.all.object(t.typeOf(e))
	if o == nil || o.schema != nil || p.is != fielded || p.open {
		return
	}
	for _, name := range o.names() {
		if w.all.field(p, name) == nil {
			w.unknownField(t.pos(e), name, p, joinPath(where, name))
		}
	}
}

// letValue compares the value of a let with a schema, part by part. If its type
// does not fit, the complaint belongs to where the let is used.
func (w walker) letValue(l *let, t *typed, e ast.Expr, p *fieldSchema, where string) {
	if own := w.expressions.checked(l.src.Expr); own != nil && w.scalars.wants(t.pos(e), p, own.t, where) {
		w.expression(own, own.ast.Expr(), p, where)
	}
}

func (w walker) literal(t *typed, e ast.Expr, p *fieldSchema, where string) {
	pos := t.pos(e)
	switch v := e.AsLiteral().(type) {
	case types.String:
		w.scalars.text(string(v), pos, p, where)
	case types.Int:
		if w.scalars.wants(pos, p, types.IntType, where) {
			w.scalars.integer(int64(v), strconv.FormatInt(int64(v), 10), pos, p, where)
		}
	default:
		w.byType(t, e, p, where)
	}
}

func (w walker) mapLiteral(t *typed, e ast.Expr, p *fieldSchema, where string) {
	if p.is != fielded && p.is != mapping {
		w.scalars.wants(t.pos(e), p, types.NewMapType(types.StringType, types.DynType), where)
		return
	}
	given := &source.Node{Kind: source.Map, Pos: t.pos(e)}
	complete := true
	for _, item := range e.AsMap().Entries() {
		entry := item.AsMapEntry()
		key, ok := expr.LiteralString(entry.Key())
		if !ok {
			complete = false
			if p.is == mapping {
				w.expression(t, entry.Value(), w.all.values(p), where+"[]")
			}
			continue
		}
		at := joinPath(where, key)
		given.Fields = append(given.Fields, source.Field{Key: source.String{Value: key}, Value: given})
		if f := w.below(p, source.String{Value: key, Pos: t.pos(entry.Key())}, at); f != nil {
			w.merges.unmergeable(f, t.pos(entry.Key()), at)
			w.expression(t, entry.Value(), f, at)
		}
	}
	if complete && w.partial == wholeValue {
		w.required(given, p, where)
	}
}

func (w walker) listLiteral(t *typed, e ast.Expr, p *fieldSchema, where string) {
	if p.is != list {
		w.scalars.wants(t.pos(e), p, types.NewListType(types.DynType), where)
		return
	}
	w.merges.merged(p, elementsIn(t, e.AsList()), where)
	for i, item := range e.AsList().Elements() {
		at := fmt.Sprintf("%s[%d]", where, i)
		w.nullElement(t, item, w.all.items(p), at)
		w.expression(t, item, w.all.items(p), at)
	}
}

// takesNull reports whether the API server takes null for an element of a list. Kubernetes' own kinds make an empty
// value of it, and server-side apply rejects it in lists with keys.
func (p *fieldSchema) takesNull() bool {
	return p == nil || p.is == anything || p.nullable || !p.own && p.Default != nil
}

// nullElement finds null as the result of an element: it leaves out a field, but no element.
func (w walker) nullElement(t *typed, e ast.Expr, p *fieldSchema, where string) {
	switch {
	case p == nil:
	case literalValue(e) == types.NullValue:
		if !p.takesNull() {
			w.reporter.errorf(t.pos(e), "%s: expected %s, got null", where, w.all.expected(p)).Hint =
				"write optional.none() to leave the element out, and optional.of(...) around the other value"
		}
	case e.Kind() == ast.CallKind && e.AsCall().FunctionName() == operators.Conditional:
		w.nullElement(t, e.AsCall().Args()[1], p, where)
		w.nullElement(t, e.AsCall().Args()[2], p, where)
	case e.Kind() == ast.CallKind && e.AsCall().FunctionName() == "dyn" && len(e.AsCall().Args()) == 1:
		w.nullElement(t, e.AsCall().Args()[0], p, where)
	}
}

// call follows the calls whose result is an argument.
func (w walker) call(t *typed, e ast.Expr, p *fieldSchema, where string) {
	c := e.AsCall()
	args := c.Args()
	switch name := c.FunctionName(); {
	case name == operators.Conditional:
		w.expression(t, args[1], p, where)
		w.expression(t, args[2], p, where)
	case (name == "dyn" || name == entriesFunction || name == expr.Present || name == "optional.of") && len(args) == 1:
		w.expression(t, args[0], p, where)
	case name == "optional.none", name == expr.Fail:
	case (name == "orValue" || name == "or") && c.IsMemberFunction():
		w.expression(t, c.Target(), p, where)
		w.expression(t, args[0], p, where)
	case name == "merge" || name == "deepMerge" || name == expr.MergeApply && len(args) == 3:
		if w.partial == wholeValue {
			w.partial = partOfObject
		}
		for _, arg := range args[len(args)-2:] {
			w.expression(t, arg, p, where)
		}
	case name == "mergeBy" && p.is == list:
		if w.partial == wholeValue {
			w.partial = partOfObject
		}
		w.expression(t, args[0], p, where)
		w.expression(t, args[1], p, where)
	case name == operators.Add && p.is == list:
		for _, arg := range args {
			w.expression(t, arg, p, where)
		}
	case strings.HasPrefix(name, "math.") && p.is == integer:
		// Rounding gives a whole number, whatever its type.
	default:
		w.byType(t, e, p, where)
	}
}

// comprehension follows map() and filter() to their elements, and bind() and
// optMap() to their results.
func (w walker) comprehension(t *typed, e ast.Expr, p *fieldSchema, where string) {
	c := e.AsComprehension()
	if expr.IsBind(c) {
		w.expression(t, c.Result(), p, where)
		return
	}
	if element, _ := collectedElement(c); element != nil && p.is == list {
		w.expression(t, element, w.all.items(p), where+"[]")
		return
	}
	w.byType(t, e, p, where)
}

// collectedElement returns what a comprehension appends to a list for each element,
// and under which condition, or nil.
func collectedElement(c ast.ComprehensionExpr) (element, condition ast.Expr) {
	step := c.LoopStep()
	if isCall(step, operators.Conditional) {
		condition = step.AsCall().Args()[0]
		step = step.AsCall().Args()[1]
	}
	if !isCall(step, operators.Add) {
		return nil, nil
	}
	args := step.AsCall().Args()
	if args[0].Kind() != ast.IdentKind || args[0].AsIdent() != c.AccuVar() || args[1].Kind() != ast.ListKind ||
		args[1].AsList().Size() != 1 {
		return nil, nil
	}
	return args[1].AsList().Elements()[0], condition
}

func isCall(e ast.Expr, name string) bool {
	return e.Kind() == ast.CallKind && e.AsCall().FunctionName() == name
}
