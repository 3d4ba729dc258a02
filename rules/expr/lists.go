package expr

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// IsListSum reports whether a call adds two lists, whose elements may have different types.
// To CEL that is an error.
func IsListSum(c ast.CallExpr, typeOf map[int64]*types.Type) bool {
	if c.FunctionName() != operators.Add {
		return false
	}
	for _, side := range c.Args() {
		if t := typeOf[side.ID()]; t == nil || t.Kind() != types.ListKind {
			return false
		}
	}
	return true
}

// looseLists converts the sides of sums of lists to dyn, and reports whether there are any.
func looseLists(a *ast.AST, typeOf map[int64]*types.Type) bool {
	next := ast.MaxID(a) + 1
	var sides []ast.Expr
	ast.PostOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.CallKind && IsListSum(e.AsCall(), typeOf) {
			sides = append(sides, e.AsCall().Args()...)
		}
	}))
	for i, side := range sides {
		Wrap(a, side, "dyn", next+int64(i))
	}
	return len(sides) > 0
}

// The functions that change one element of a list have the names and the meaning that
// they have in kro.
const (
	setAtIndex    = "lists.setAtIndex"
	insertAtIndex = "lists.insertAtIndex"
	removeAtIndex = "lists.removeAtIndex"
)

func indexFunctions() []cel.EnvOption {
	element := cel.TypeParamType("T")
	list := cel.ListType(element)
	return []cel.EnvOption{
		cel.Function(setAtIndex, cel.Overload("lists_setAtIndex", []*cel.Type{list, cel.IntType, element}, list,
			cel.FunctionBinding(func(args ...ref.Val) ref.Val { return splice(setAtIndex, args[0], args[1], 1, args[2]) }))),
		cel.Function(insertAtIndex, cel.Overload("lists_insertAtIndex", []*cel.Type{list, cel.IntType, element}, list,
			cel.FunctionBinding(func(args ...ref.Val) ref.Val { return splice(insertAtIndex, args[0], args[1], 0, args[2]) }))),
		cel.Function(removeAtIndex, cel.Overload("lists_removeAtIndex", []*cel.Type{list, cel.IntType}, list,
			cel.BinaryBinding(func(list, index ref.Val) ref.Val { return splice(removeAtIndex, list, index, 1) }))),
	}
}

// splice copies a list with some elements in place of the removed ones at an index.
func splice(function string, v, index ref.Val, removed int, with ...ref.Val) ref.Val {
	list, isList := v.(traits.Lister)
	at, isInt := index.(types.Int)
	if !isList || !isInt {
		return noOverload()
	}
	size := sizeOf(list)
	if at < 0 || int64(at) > int64(size-removed) {
		return failf("%s(): index out of bounds", function)
	}
	out := make([]ref.Val, 0, size-removed+len(with))
	for i := range at {
		out = append(out, list.Get(i))
	}
	out = append(out, with...)
	for i := int(at) + removed; i < size; i++ {
		out = append(out, list.Get(types.Int(i)))
	}
	return types.NewRefValList(types.DefaultTypeAdapter, out)
}
