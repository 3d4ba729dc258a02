package expr

import (
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	"github.com/google/cel-go/parser"

	"reconcel/rules/source"
)

// An IDFunction is a function of the id of a lookup or child, and not of its value, which
// may be unknown. A call reads a variable of its own.
type IDFunction string

// The functions of ids.
const (
	// Existing lists the objects that exist of a child with forEach or replicas. The
	// value of the child is unknown until all of them exist.
	Existing IDFunction = "existing"
	// ByKey maps the elements of a child with forEach to their objects that exist.
	ByKey IDFunction = "byKey"
	// Exists says whether the object of a lookup or child exists.
	Exists IDFunction = "exists"
	// Included says whether a child is wanted, as its when decides.
	Included IDFunction = "included"
)

// Takes returns the error for any other argument.
func (f IDFunction) Takes() string {
	switch f {
	case Existing:
		return "existing() takes the id of a child with forEach or replicas"
	case ByKey:
		return "byKey() takes the id of a child with forEach"
	case Exists:
		return "exists() takes the id of a lookup or child that is a single object"
	}
	return string(f) + "() takes the id of a child"
}

// Hint says how to call the function.
func (f IDFunction) Hint() string {
	if f == Exists {
		return "has(x.field) says whether a field exists"
	}
	return "write its id alone, like " + string(f) + "(pods)"
}

// Variable returns the name of the variable that a call with an id reads. Expressions
// cannot name it.
func (f IDFunction) Variable(id string) string { return string(f) + "(" + id + ")" }

func idFunctions() []cel.EnvOption {
	value := cel.TypeParamType("T")
	declare := func(f IDFunction, arg, result *cel.Type) cel.EnvOption {
		return cel.Function(string(f), cel.Overload(string(f), []*cel.Type{arg}, result))
	}
	return []cel.EnvOption{
		declare(Existing, cel.ListType(value), cel.ListType(value)),
		declare(ByKey, cel.ListType(value), cel.MapType(cel.StringType, value)),
		declare(Exists, value, cel.BoolType),
		declare(Included, value, cel.BoolType),
		// Otherwise the error of list.exists(x) is that x is not declared.
		cel.Macros(cel.ReceiverMacro(string(Exists), 1,
			func(eh parser.ExprHelper, target ast.Expr, _ []ast.Expr) (ast.Expr, *common.Error) {
				return nil, eh.NewError(target.ID(), otherArguments+string(Exists)+"'")
			})),
	}
}

// idFunctionOf returns the function of that name, and whether it is one of ids.
func idFunctionOf(name string) (IDFunction, bool) {
	switch f := IDFunction(name); f {
	case Existing, ByKey, Exists, Included:
		return f, true
	}
	return "", false
}

// An idCall is a call of a function of ids.
type idCall struct {
	function IDFunction
	arg      int64
	id       string // "": the argument is not the name of a variable of the scope
}

// noteIDCall records a call, and returns the shape of its result.
func (a *analyzer) noteIDCall(f IDFunction, call int64, arg ast.Expr, value *Shape) *Shape {
	a.idCalls[call] = idCall{f, arg.ID(), a.variableOf(arg)}
	if f == Existing || f == ByKey {
		return value
	}
	return (*Shape)(nil).with(value.extent())
}

// variableOf returns the variable of the scope that an expression is, or "".
func (a *analyzer) variableOf(e ast.Expr) string {
	isName := func(l local) bool { return l.name == e.AsIdent() }
	if e.Kind() != ast.IdentKind || slices.ContainsFunc(a.locals, isName) {
		return ""
	}
	return e.AsIdent()
}

// A Call is a call of a function of ids in an expression.
type Call struct {
	Pos      source.Pos // of the argument
	Function IDFunction
	ID       string
}

// Calls returns the calls of functions of ids, in order.
func (c *Checked) Calls() []Call {
	var out []Call
	for _, call := range c.idCalls {
		out = append(out, Call{Position(c.src, c.ast, call.arg), call.function, call.id})
	}
	return out
}

// An idCallValue is a call of a function of ids.
type idCallValue struct {
	interpreter.InterpretableCall
	function IDFunction
	variable string
}

// Exec returns the value of the variable.
func (e *idCallValue) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	v, ok := frame.ResolveName(e.variable)
	if !ok {
		return types.LabelErrNode(e.ID(), failf("%s", e.function.Takes()))
	}
	return types.DefaultTypeAdapter.NativeToValue(v)
}

// Eval is Exec for callers of CEL's older interface.
func (e *idCallValue) Eval(vars interpreter.Activation) ref.Val {
	return e.Exec(interpreter.AsFrame(vars))
}
