package expr

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// A logicCall is && or ||, which are no calls to CEL's planner. Each side alone may decide. So a side that will never
// be known leaves the decision to the others, and the result is never known only if no side will be.
type logicCall struct {
	interpreter.InterpretableV2
	of   ast.CallExpr
	args []interpreter.InterpretableV2
	// decisive is the value of a side that decides.
	decisive types.Bool
	// needed: it is a && that must be true for an object to exist. If one side will never be known, it cannot be.
	needed bool
}

func (l *logicCall) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	var unknown, never *types.Unknown
	var failed ref.Val
	var values []ref.Val // of the sides, once one is neither true nor false
	for i, arg := range l.args {
		v := arg.Exec(frame)
		if v == l.decisive {
			return v
		}
		switch v := v.(type) {
		case *types.Unknown:
			if isExcluded(frame, v) {
				never = types.MergeUnknowns(v, never)
			} else {
				unknown = types.MergeUnknowns(v, unknown)
			}
			continue
		case *types.Err:
			if failed == nil {
				failed = v
			}
			continue
		case types.Bool:
			if values != nil {
				values = append(values, v)
			}
		default:
			if values == nil {
				values = make([]ref.Val, i, len(l.args))
				for before := range values {
					values[before] = !l.decisive
				}
			}
			values = append(values, v)
			if failed == nil {
				failed = types.LabelErrNode(l.ID(), noOverload())
			}
		}
	}
	switch {
	case never != nil && (unknown == nil || l.needed):
		return never
	case unknown != nil:
		return unknown
	case failed == nil:
		return !l.decisive
	case isMismatch(failed, l.ID()):
		return explainMismatch(failed, l.ID(), l.of, values)
	}
	return types.LabelErrNode(l.ID(), failed)
}

// Eval is Exec for callers of CEL's older interface.
func (l *logicCall) Eval(vars interpreter.Activation) ref.Val {
	return l.Exec(interpreter.AsFrame(vars))
}

// isExcluded reports whether an unknown value waits for an object that is not wanted, and so will never be known.
func isExcluded(frame *interpreter.ExecutionFrame, u *types.Unknown) bool {
	w := workerOf(frame)
	return w != nil && w.Excluded(u)
}

// logicOf returns what evaluates a node of a plan that is && or ||, or else the node. planned are the nodes below
// logic.
func (a *analyzer) logicOf(node interpreter.InterpretableV2,
	planned map[int64]interpreter.InterpretableV2) interpreter.InterpretableV2 {
	of := a.calls[node.ID()]
	if of == nil || !isLogic(of) {
		return node
	}
	out := &logicCall{InterpretableV2: node, of: of, decisive: of.FunctionName() == operators.LogicalOr,
		needed: a.needed[node.ID()]}
	for _, arg := range of.Args() {
		if planned[arg.ID()] == nil {
			return node
		}
		out.args = append(out.args, planned[arg.ID()])
	}
	return out
}

func isLogic(c ast.CallExpr) bool {
	return c.FunctionName() == operators.LogicalAnd || c.FunctionName() == operators.LogicalOr
}

// noteNeeded notes each && that must be true for the expression to be true.
func (a *analyzer) noteNeeded(e ast.Expr) {
	if e.Kind() != ast.CallKind {
		return
	}
	c := e.AsCall()
	sides := c.Args()
	switch c.FunctionName() {
	case operators.LogicalAnd:
		a.needed[e.ID()] = true
	case operators.LogicalOr:
	case operators.Conditional:
		sides = sides[1:]
	default:
		return
	}
	for _, side := range sides {
		a.noteNeeded(side)
	}
}
