package expr

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

// looseNulls converts a null branch of a conditional to dyn. To CEL the branches of
// c ? null : "x" have different types, but null leaves a field out, so that this
// makes sense.
func looseNulls(a *ast.AST) {
	next := ast.MaxID(a) + 1
	ast.PostOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != operators.Conditional {
			return
		}
		for _, side := range e.AsCall().Args()[1:] {
			if side.Kind() == ast.LiteralKind && side.AsLiteral() == types.NullValue {
				Wrap(a, side, "dyn", next)
				next++
			}
		}
	}))
}
