package expr

import (
	"fmt"
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/traits"
)

// arguments returns those of a call, its target first.
func arguments(c ast.CallExpr) []ast.Expr {
	if c.IsMemberFunction() {
		return append([]ast.Expr{c.Target()}, c.Args()...)
	}
	return c.Args()
}

// call narrows a call whose result does not depend on all of its arguments. It reports false
// for other calls.
func (n *narrower) call(e ast.Expr, at *bound, path []any, use Use) bool {
	c := e.AsCall()
	args := arguments(c)
	switch c.FunctionName() {
	case operators.Conditional:
		n.part(args[0], at, nil, UsedValue)
		chosen := args[2]
		if n.value(args[0], at) == types.True {
			chosen = args[1]
		}
		n.part(chosen, at, path, use)
	case operators.LogicalAnd, operators.LogicalOr:
		n.part(args[0], at, nil, UsedValue)
		if decides := types.Bool(c.FunctionName() == operators.LogicalOr); n.value(args[0], at) != decides {
			n.part(args[1], at, nil, UsedValue)
		}
	case "dyn", "optional.of", "value":
		n.part(args[0], at, path, use)
	case "orValue":
		if o, _ := n.value(args[0], at).(*types.Optional); o != nil && o.HasValue() {
			n.part(args[0], at, path, use)
		} else {
			n.part(args[0], at, nil, UsedPresence)
			n.part(args[1], at, path, use)
		}
	case Present:
		return n.present(args[0], at, path, use)
	case "merge":
		return n.merged(args, at, path, use)
	case operators.In:
		return n.found(args, at)
	case operators.Add:
		return n.sum(args, at, path, use)
	case operators.Index:
		return n.index(args, at, path, use)
	case operators.OptSelect:
		n.part(args[0], at, below(args[1].AsLiteral().Value(), path), use)
	case "first", "last":
		return n.end(c.FunctionName(), args[0], at, path, use)
	case "mergePodTemplate":
		n.mergedTemplate(args, at, path, use)
	case "flatten":
		return len(args) == 1 && n.flattened(args[0], at, path, use)
	case "distinct", "sort":
		return n.picked(e, args[0], at, path, use)
	case overloads.Size:
		_, isList := n.value(args[0], at).(traits.Lister)
		if isList {
			n.part(args[0], at, nil, UsedExtent)
		}
		return isList
	default:
		return false
	}
	return true
}

// strict narrows each argument of a call to the parts that the call reads.
func (n *narrower) strict(e ast.Expr, at *bound, path []any, use Use) bool {
	c := e.AsCall()
	if _, ofID := idFunctionOf(c.FunctionName()); ofID || isIndex(e) {
		return false
	}
	factory, locals := ast.NewExprFactory(), at
	args := slices.Clone(arguments(c))
	for i, arg := range args {
		if arg.Kind() != ast.LiteralKind {
			name := fmt.Sprintf("@%d", i)
			locals = &bound{locals, name, n.value(arg, at), func(path []any, use Use) { n.part(arg, at, path, use) }}
			args[i] = factory.NewIdent(arg.ID(), name)
		}
	}
	call := factory.NewCall(-e.ID(), c.FunctionName(), args...)
	if c.IsMemberFunction() {
		call = factory.NewMemberCall(-e.ID(), c.FunctionName(), args[0], args[1:]...)
	}
	n.read(n.eval(call, locals), path, use)
	return true
}

// merged narrows merge(): each entry comes from one of the maps.
func (n *narrower) merged(args []ast.Expr, at *bound, path []any, use Use) bool {
	if len(path) == 0 {
		return false
	}
	has := false
	with := n.value(args[1], at)
	n.vars.Silently(func() { _, has = At(with, path[:1]) })
	if has {
		n.part(args[1], at, path, use)
		return true
	}
	n.part(args[1], at, path[:1], UsedPresence)
	n.part(args[0], at, path, use)
	return true
}

// present narrows the data of a definition.
func (n *narrower) present(e ast.Expr, at *bound, path []any, use Use) bool {
	switch e.Kind() {
	case ast.MapKind:
		return n.entry(e.AsMap(), at, path, use)
	case ast.ListKind:
		isOptional := func(i int32) bool {
			_, is := n.value(e.AsList().Elements()[i], at).(*types.Optional)
			return is
		}
		return n.list(e.AsList(), isOptional, at, path, use)
	}
	return false
}

// entry narrows a map to an entry.
func (n *narrower) entry(m ast.MapExpr, at *bound, path []any, use Use) bool {
	var of ast.Expr
	for _, item := range m.Entries() {
		entry := item.AsMapEntry()
		key, literal := literalKey(entry.Key())
		if len(path) == 0 || !literal || entry.IsOptional() {
			return false
		}
		if key == path[0] {
			of = entry.Value()
		}
	}
	if of != nil {
		n.part(of, at, path[1:], use)
	}
	return true
}
