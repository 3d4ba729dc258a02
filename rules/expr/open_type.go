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
