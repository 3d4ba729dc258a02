package expr

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// CEL does not say which types a function got that does not take them. So a call that fails for that
// reason evaluates its arguments once more, and says it in the words of errors that are found when rules load.

// A mismatchedCall explains the failure of a call.
type mismatchedCall struct {
	interpreter.InterpretableCall
	of  ast.CallExpr
	env *environment
}

func (c *mismatchedCall) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	v := c.InterpretableCall.Exec(frame)
	mismatch := isMismatch(v, c.ID())
	if !mismatch && !(takesOneType[c.of.FunctionName()] && isErrorOf(v, c.ID())) {
		return v
	}
	values, failed := argumentsOf(frame, c.of, c.Args())
	if failed != nil {
		return failed
	}
	if v := withDoubles(c.of.FunctionName(), values); v != nil {
		return types.LabelErrNode(c.ID(), v)
	}
	if again := c.withWholes(frame, values); again != nil {
		return again
	}
	if !mismatch {
		return v
	}
	return explainMismatch(v, c.ID(), c.of, values)
}

// withWholes makes the call again with integers in place of whole doubles. It returns nil if no value is one, or if the
// call does not take them either.
func (c *mismatchedCall) withWholes(frame *interpreter.ExecutionFrame, values []ref.Val) ref.Val {
	values = withWholes(c.of.FunctionName(), values)
	if values == nil || len(values) > len(operands{}) {
		return nil
	}
	again := guardedCall{InterpretableCall: c.InterpretableCall}
	if guarded, ok := c.InterpretableCall.(*guardedCall); ok {
		again = *guarded
	} else {
		again.run = c.env.runner(c.InterpretableCall)
	}
	if again.run == nil {
		return nil
	}
	again.args = make([]interpreter.InterpretableV2, len(values))
	for i, v := range values {
		again.args[i] = interpreter.NewConstValue(c.ID(), v).(interpreter.InterpretableV2)
	}
	if v := again.Exec(frame); !isMismatch(v, c.ID()) {
		return v
	}
	return nil
}

// Eval is Exec for callers of CEL's older interface.
func (c *mismatchedCall) Eval(vars interpreter.Activation) ref.Val {
	return c.Exec(interpreter.AsFrame(vars))
}

// A mismatchedLogic explains the failure of && and ||, which are no calls to CEL's planner.
type mismatchedLogic struct {
	interpreter.InterpretableV2
	of   ast.CallExpr
	args []interpreter.InterpretableV2
}

func (l *mismatchedLogic) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	v := l.InterpretableV2.Exec(frame)
	if !isMismatch(v, l.ID()) {
		return v
	}
	values, failed := argumentsOf(frame, l.of, l.args)
	if failed != nil {
		return failed
	}
	return explainMismatch(v, l.ID(), l.of, values)
}

// Eval is Exec for callers of CEL's older interface.
func (l *mismatchedLogic) Eval(vars interpreter.Activation) ref.Val {
	return l.Exec(interpreter.AsFrame(vars))
}

// isMismatch reports whether a value is the error of this node about the types of its arguments. That of init has no
// node.
func isMismatch(v ref.Val, node int64) bool {
	return isErrorOf(v, node) && strings.HasPrefix(v.(*types.Err).String(), "no such overload")
}

// isErrorOf reports whether a value is the error of this node.
func isErrorOf(v ref.Val, node int64) bool {
	err, failed := v.(*types.Err)
	return failed && (err.NodeID() == node || err.NodeID() == -1)
}

// argumentsOf evaluates the arguments of a call again. failed is the error of one of them, which is the reason.
func argumentsOf(frame *interpreter.ExecutionFrame, of ast.CallExpr,
	args []interpreter.InterpretableV2) (values []ref.Val, failed ref.Val) {
	for _, arg := range args {
		value := arg.Exec(frame)
		if !types.IsError(value) {
			values = append(values, value)
		} else if !isLogic(of) { // Of && and ||, the other side may be the reason.
			return nil, value
		}
	}
	return values, nil
}

func explainMismatch(v ref.Val, node int64, of ast.CallExpr, values []ref.Val) ref.Val {
	var got []string
	for _, value := range values {
		got = append(got, typeName(value))
	}
	s := signature{args: got}
	if of.IsMemberFunction() && len(got) > 0 {
		s = signature{target: got[0], args: got[1:]}
	}
	if len(got) == 0 {
		return v
	}
	var i Issue
	explainCall(&i, of.FunctionName(), s)
	if i.Hint != "" {
		i.Message += " (" + i.Hint + ")"
	}
	return types.LabelErrNode(node, failf("%s", i.Message))
}

func isLogic(c ast.CallExpr) bool {
	return c.FunctionName() == operators.LogicalAnd || c.FunctionName() == operators.LogicalOr
}

// typeName returns the type of a value in the words of TypeName.
func typeName(v ref.Val) string {
	if o, ok := v.(*types.Optional); ok {
		if !o.HasValue() {
			return "optional any"
		}
		return "optional " + typeName(o.GetValue())
	}
	if l, ok := v.(traits.Lister); ok {
		return "list" + elementTypes(l)
	}
	r := typeReader{rest: v.Type().TypeName()}
	return r.next()
}

// mostElementTypes is how many types of elements a message names.
const mostElementTypes = 3

// elementTypes returns the types of the elements of a list, such as " of string".
func elementTypes(l traits.Lister) string {
	var names []string
	for it := l.Iterator(); it.HasNext() == types.True && len(names) < mostElementTypes; {
		if name := typeName(it.Next()); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if names == nil {
		return ""
	}
	return " of " + strings.Join(names, " and ")
}

// mismatch wraps a node of a plan that may get types that it does not take. planned are the nodes below logic.
func (a *analyzer) mismatch(env *environment, node interpreter.InterpretableV2,
	planned map[int64]interpreter.InterpretableV2) interpreter.InterpretableV2 {
	of := a.calls[node.ID()]
	if of == nil {
		return node
	}
	if call, ok := node.(interpreter.InterpretableCall); ok && len(call.Args()) > 0 {
		return &mismatchedCall{call, of, env}
	}
	if !isLogic(of) {
		return node
	}
	out := &mismatchedLogic{node, of, nil}
	for _, arg := range of.Args() {
		if planned[arg.ID()] == nil {
			return node
		}
		out.args = append(out.args, planned[arg.ID()])
	}
	return out
}
