package expr

import (
	"slices"
	"strings"

	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/decls"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// A value of unknown type has parts of unknown type. CEL's checker does not say so: to it, m[?"k"] is
// an optional of a type to be inferred. The first function of it that is declared for several types
// decides the type: int(v) makes v an integer, and then fails for text. So the results of such calls
// are declared as dyn here. Only the checker sees that; the expression stays as it is.

// openFunction returns its argument, with parts of unknown type.
const openFunction = "@open"

func declareOpen() (*decls.FunctionDecl, error) {
	var overloads []decls.FunctionOpt
	for id, t := range map[string]*types.Type{
		"@open_optional": types.NewOptionalType(types.DynType), "@open_list": types.NewListType(types.DynType),
		"@open_map": types.NewMapType(types.DynType, types.DynType),
	} {
		overloads = append(overloads, decls.Overload(id, []*types.Type{t}, t))
	}
	return decls.NewFunction(openFunction, overloads...)
}

// mostOpened is how often an expression is checked again. Each time, values of the ones that were found before have
// become known to be of unknown type.
const mostOpened = 8

// infer checks a parsed expression.
func (s *TypedScope) infer(text common.Source, parsed *ast.AST) (*ast.AST, *common.Errors) {
	checked, found := checker.Check(parsed, text, s.check)
	o := &opener{scope: s, open: map[int64]string{}}
	for range mostOpened {
		if !o.find(checked) {
			break
		}
		checked, found = o.check(text, checked)
	}
	return checked, found
}

// An opener finds the calls whose type the checker only assumes.
type opener struct {
	scope *TypedScope
	open  map[int64]string // the function that opens the type of the result, by the id of the call
}

// find adds calls, and reports whether there are any more.
func (o *opener) find(checked *ast.AST) bool {
	before := len(o.open)
	ast.PostOrderVisit(checked.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.CallKind && o.open[e.ID()] == "" {
			if f := o.opens(checked, e); f != "" {
				o.open[e.ID()] = f
			}
		}
	}))
	return len(o.open) > before
}

// opens returns the function that opens the type of a call's result, or "" if its arguments decide about that type.
func (o *opener) opens(checked *ast.AST, e ast.Expr) string {
	c := e.AsCall()
	ref := checked.ReferenceMap()[e.ID()]
	f := o.scope.base.declared[c.FunctionName()]
	if ref == nil || len(ref.OverloadIDs) != 1 || f == nil || c.FunctionName() == operators.OptSelect ||
		strings.HasPrefix(c.FunctionName(), "cel.@") {
		return "" // The checker itself knows the type of x.?field.
	}
	i := slices.IndexFunc(f.OverloadDecls(), func(d *decls.OverloadDecl) bool { return d.ID() == ref.OverloadIDs[0] })
	if i < 0 {
		return ""
	}
	overload := f.OverloadDecls()[i]
	args := Parts(e)
	if len(args) == 0 || len(args) != len(overload.ArgTypes()) || len(overload.TypeParams()) == 0 {
		return ""
	}
	decided, byEmpty := map[string]bool{}, false
	for n, param := range overload.ArgTypes() {
		switch {
		case isEmpty(args[n]): // The type of its elements is open.
			byEmpty = true
		case o.open[args[n].ID()] == "":
			decide(param, checked.GetType(args[n].ID()), decided)
		}
	}
	if !leavesOpen(overload.ResultType(), decided) {
		return ""
	}
	switch kind := overload.ResultType().Kind(); kind {
	case types.TypeParamKind, types.ListKind, types.MapKind:
		if kind == types.TypeParamKind && !byEmpty {
			return "dyn"
		}
		return openFunction
	case types.OpaqueKind:
		if overload.ResultType().TypeName() == types.OptionalType.TypeName() {
			return openFunction
		}
	}
	return ""
}

// isEmpty reports whether a node is [] or {}.
func isEmpty(e ast.Expr) bool {
	return e.Kind() == ast.ListKind && e.AsList().Size() == 0 || e.Kind() == ast.MapKind && e.AsMap().Size() == 0
}

// decide adds the parameters of a type that an argument decides about.
func decide(param, arg *types.Type, decided map[string]bool) {
	switch {
	case arg == nil || arg.Kind() == types.DynKind:
	case param.Kind() == types.TypeParamKind:
		decided[param.TypeName()] = true
	case param.Kind() == arg.Kind() && len(param.Parameters()) == len(arg.Parameters()):
		for i, p := range param.Parameters() {
			decide(p, arg.Parameters()[i], decided)
		}
	}
}

func leavesOpen(t *types.Type, decided map[string]bool) bool {
	if t.Kind() == types.TypeParamKind {
		return !decided[t.TypeName()]
	}
	return slices.ContainsFunc(t.Parameters(), func(p *types.Type) bool { return leavesOpen(p, decided) })
}

// check checks a copy in which the calls are opened. Its types and references are those of the expression.
func (o *opener) check(text common.Source, expression *ast.AST) (*ast.AST, *common.Errors) {
	copied := ast.NewAST(ast.NewExprFactory().CopyExpr(expression.Expr()), expression.SourceInfo())
	var nodes []ast.Expr
	ast.PostOrderVisit(copied.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if o.open[e.ID()] != "" {
			nodes = append(nodes, e)
		}
	}))
	next, inner := ast.MaxID(copied)+1, map[int64]int64{}
	for _, e := range nodes {
		inner[e.ID()] = next
		Wrap(copied, e, o.open[e.ID()], next)
		next++
	}
	checked, found := checker.Check(copied, text, o.scope.check)
	references := checked.ReferenceMap()
	for call, of := range inner {
		references[call] = references[of]
	}
	return ast.NewCheckedAST(ast.NewAST(expression.Expr(), expression.SourceInfo()), checked.TypeMap(), references), found
}

// JSON has one type of numbers, and the API server stores 3.0 as 3. Where a schema says that a
// field holds decimal numbers, it holds doubles. Elsewhere a decimal number arrives as an integer
// when it happens to be whole. So a whole number counts as a decimal one where only a decimal one
// is taken, and the other way round.

// mostExact is the largest whole number up to which a double has every one.
const mostExact = 1 << 53

// Whole returns a number as an integer, if it is whole.
func Whole(v ref.Val) (n types.Int, ok bool) {
	switch v := v.(type) {
	case types.Int:
		return v, true
	case types.Double:
		n = types.Int(v)
		return n, -mostExact <= v && v <= mostExact && types.Double(n) == v
	}
	return 0, false
}

// takesOneType are the functions that fail, without saying that they do not take the types, for
// numbers of another type, or of several.
var takesOneType = map[string]bool{"sort": true, sortBy: true, "format": true}

// withWholes returns the arguments of a failed call with integers in place of whole doubles. In a list with other
// numbers, all are doubles instead, but for format(), which takes each element for itself. It
// returns nil if no argument has changed.
func withWholes(function string, args []ref.Val) []ref.Val {
	out, changed := slices.Clone(args), false
	for i, arg := range args {
		switch arg := arg.(type) {
		case types.Double:
			if n, ok := Whole(arg); ok {
				out[i], changed = n, true
			}
		case traits.Lister:
			if list := ofOneType(arg, function == "format"); list != nil {
				out[i], changed = list, true
			}
		}
	}
	if !changed {
		return nil
	}
	return out
}

// ofOneType returns a list in which all numbers have one type, or each whole one is an integer. It
// returns nil if the list is like that.
func ofOneType(list traits.Lister, each bool) ref.Val {
	var all []ref.Val
	wholes, doubles, integers := 0, 0, 0
	for it := list.Iterator(); it.HasNext() == types.True; {
		v := it.Next()
		all = append(all, v)
		_, whole := Whole(v)
		switch v.(type) {
		case types.Double:
			doubles++
			if whole {
				wholes++
			}
		case types.Int:
			integers++
		}
	}
	toIntegers := each || wholes == doubles
	if toIntegers && wholes == 0 || !toIntegers && integers == 0 {
		return nil
	}
	for i, v := range all {
		if n, ok := Whole(v); ok && toIntegers {
			all[i] = n
		} else if n, ok := asDouble(v); ok && !toIntegers {
			all[i] = n
		}
	}
	return types.NewRefValList(types.DefaultTypeAdapter, all)
}

// withDoubles makes a call with doubles in place of integers, or returns nil if it takes no doubles or has none.
func withDoubles(function string, args []ref.Val) ref.Val {
	switch len(args) {
	case 1:
		if n, isInt := args[0].(types.Int); isInt {
			return ofWhole(function, types.Double(n))
		}
	case 2:
		a, one := asDouble(args[0])
		b, other := asDouble(args[1])
		if !one || !other {
			return nil
		}
		switch function {
		case operators.Add:
			return a + b
		case operators.Subtract:
			return a - b
		case operators.Multiply:
			return a * b
		case operators.Divide:
			return a.Divide(b)
		}
	}
	return nil
}

func asDouble(v ref.Val) (n types.Double, ok bool) {
	switch v := v.(type) {
	case types.Int:
		return types.Double(v), true
	case types.Double:
		return v, true
	}
	return 0, false
}

// ofWhole returns the result of a function that takes decimal numbers only, for a whole one.
func ofWhole(function string, n types.Double) ref.Val {
	switch function {
	case "math.ceil", "math.floor", "math.round", "math.trunc":
		return n
	case "math.isNaN", "math.isInf":
		return types.False
	case "math.isFinite":
		return types.True
	}
	return nil
}
