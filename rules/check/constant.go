package check

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"reconcel/rules/lint"
)

// constants complains about operations on literals that always fail: a division by 0, and
// an index outside of a list.
func (r *rule) constants(t *typed, where string) {
	ast.PreOrderVisit(t.ast.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind || len(e.AsCall().Args()) != 2 {
			return
		}
		from, by := e.AsCall().Args()[0], e.AsCall().Args()[1]
		n, literal := literalInt(by)
		if !literal {
			return
		}
		switch name := e.AsCall().FunctionName(); {
		case (name == operators.Divide || name == operators.Modulo) && n == 0:
			r.errorf(t.pos(by), "%s: a division by 0 always fails", where).Check = lint.ConstantError
		case name == operators.Index && from.Kind() == ast.ListKind && (n < 0 || n >= int64(from.AsList().Size())):
			r.errorf(t.pos(by), "%s: the list has %d elements, and none with the index %d", where, from.AsList().Size(), n).Check = lint.ConstantError
		}
	}))
}

func literalInt(e ast.Expr) (int64, bool) {
	if e.Kind() != ast.LiteralKind {
		return 0, false
	}
	n, ok := e.AsLiteral().(types.Int)
	return int64(n), ok
}
