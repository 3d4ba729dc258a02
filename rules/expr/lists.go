package expr

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
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
