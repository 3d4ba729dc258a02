package expr

import (
	"errors"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

// CEL computes conversions of constants when it plans an expression, and one that fails ends the plan, also in a branch
// that never runs. Its error has no position.

// A nodeError is why a node cannot be planned.
type nodeError struct {
	id  int64
	err error
}

func (e *nodeError) Error() string { return e.err.Error() }

// constantError returns the error of the constant that ends the plan, or nil if that constant may
// be meant to be skipped.
func (c *Checked) constantError(err error) *Error {
	p := &Program{src: c.src, ast: c.ast, inlined: c.inlined}
	// A pattern or a schedule that is written out is wrong wherever it is.
	if at, ok := errors.AsType[*nodeError](err); ok {
		return &Error{Pos: p.position(at.id), Message: c.inlined.within(at.id) + at.Error()}
	}
	calls, _ := c.computed(c.ast.Expr())
	for _, e := range calls {
		_, err := c.scope.typed.base.env.PlanProgram(ast.NewAST(e, c.ast.SourceInfo()), cel.EvalOptions(cel.OptOptimize))
		if failed, ok := errors.AsType[*types.Err](err); ok {
			return p.failed(types.LabelErrNode(e.ID(), types.WrapErr(failed.Unwrap())).(*types.Err))
		}
	}
	return nil
}

// computed returns the calls in an expression. A call comes after the calls in its arguments. Inside
// a function of define, it returns only the calls that every evaluation reaches, because the
// arguments may be meant for one side of a condition. whole reports whether every evaluation
// reaches all of e.
func (c *Checked) computed(e ast.Expr) (calls []ast.Expr, whole bool) {
	reached := Parts(e)
	whole = true
	if c.inlined.within(e.ID()) != "" {
		reached, whole = alwaysReached(e)
	}
	for _, part := range reached {
		more, all := c.computed(part)
		calls, whole = append(calls, more...), whole && all
	}
	if whole && e.Kind() == ast.CallKind {
		calls = append(calls, e)
	}
	return calls, whole
}

// alwaysReached returns the parts of a node that its evaluation reaches, and reports whether these are all.
func alwaysReached(e ast.Expr) (reached []ast.Expr, all bool) {
	switch e.Kind() {
	case ast.ComprehensionKind:
		return Parts(e)[:1], false
	case ast.CallKind:
		switch c := e.AsCall(); {
		case isLogic(c):
			return nil, false
		case c.FunctionName() == operators.Conditional, c.FunctionName() == "orValue", c.FunctionName() == "or":
			return Parts(e)[:1], false
		}
	}
	return Parts(e), true
}
