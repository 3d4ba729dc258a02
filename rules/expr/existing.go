package expr

import (
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"reconcel/rules/source"
)

// A child with forEach or replicas is unknown until all of its objects exist.
// existing(id) is the list of those that exist. It is always known: it reads a
// variable of its own.

const existingFunction = "existing"

// ExistingTakes is the error for any other argument.
const ExistingTakes = "existing() takes the id of a child with forEach or replicas"

// Existing returns the name of the variable that existing(id) reads. Expressions
// cannot name it.
func Existing(id string) string { return existingFunction + "(" + id + ")" }

func existingDeclaration() cel.EnvOption {
	element := cel.TypeParamType("T")
	return cel.Function(existingFunction, cel.Overload(existingFunction, []*cel.Type{cel.ListType(element)}, cel.ListType(element)))
}

// An existingCall is a call of existing() with a name.
type existingCall struct {
	arg int64
	id  string
}

// noteExisting records a call of existing(). Its argument must be a variable of the
// scope.
func (a *analyzer) noteExisting(call int64, arg ast.Expr) {
	isName := func(l local) bool { return l.name == arg.AsIdent() }
	if arg.Kind() != ast.IdentKind || slices.ContainsFunc(a.locals, isName) {
		a.misused = append(a.misused, arg.ID())
		return
	}
	a.existing[call] = existingCall{arg.ID(), arg.AsIdent()}
}

// A Call is a call of existing() in an expression.
type Call struct {
	Pos source.Pos // of the id
	ID  string
}

// Existing returns the calls of existing(), in order.
func (c *Checked) Existing() []Call {
	var out []Call
	for _, call := range c.existing {
		out = append(out, Call{Position(c.src, c.ast, call.arg), call.id})
	}
	return out
}

// An existingList is a call of existing().
type existingList struct {
	interpreter.InterpretableCall
	variable string
}

// Exec returns the value of the variable.
func (e *existingList) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	v, ok := frame.ResolveName(e.variable)
	if !ok {
		return types.LabelErrNode(e.ID(), failf(ExistingTakes))
	}
	return types.DefaultTypeAdapter.NativeToValue(v)
}

// Eval is Exec for callers of CEL's older interface.
func (e *existingList) Eval(vars interpreter.Activation) ref.Val {
	return e.Exec(interpreter.AsFrame(vars))
}
