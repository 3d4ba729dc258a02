package expr

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"

	"reconcel/rules/source"
)

// A Program is a compiled expression. It can run any number of times and in any
// goroutine.
type Program struct {
	src   *source.Expr
	ast   *ast.AST
	prog  cel.Program
	shape *Shape
	reads []string
	loops bool
	uses  []*Definition
	// inlined are the functions of define that it calls, or nil.
	inlined *Inlined
	path    *fieldPath // the expression as a read of fields, or nil

	budget uint64 // of the loops of its rule
}

// Loops reports whether the program has loops. They end when the context of the frame
// does.
func (p *Program) Loops() bool { return p.loops }

// Shape returns what is known about the program's result.
func (p *Program) Shape() *Shape { return p.shape }

// Pos returns the position of the expression.
func (p *Program) Pos() source.Pos { return p.src.At(1, 0) }

// Text returns the expression as it was written.
func (p *Program) Text() string { return p.src.Text }

// Uses returns the definitions that the program names, and the values that their functions
// read.
func (p *Program) Uses() []*Definition { return p.uses }

// An Error is a failed evaluation. Its message names fields and functions but never
// shows a value, which may be a secret.
type Error struct {
	Pos     source.Pos
	Message string
	// Authored: the message is that of fail(). It says what its author chose to say, also values.
	Authored bool
}

func (e *Error) Error() string { return e.Message }

// In returns the error with the name of what failed before its message. The message of fail() stays as it is.
func (e *Error) In(where string) *Error {
	if e.Authored {
		return e
	}
	return &Error{Pos: e.Pos, Message: where + ": " + e.Message}
}

// Eval runs the program. A result that needs a value that does not exist yet is a
// *types.Unknown. The programs of one rule share a frame and with it a budget.
func (p *Program) Eval(frame *interpreter.ExecutionFrame) (ref.Val, *Error) {
	if v, exists := p.path.read(frame); exists {
		return v, nil
	}
	v, _, err := p.prog.Eval(frame)
	if err != nil {
		return nil, p.failed(err)
	}
	return v, nil
}

// A failure is an error message that contains no values.
type failure string

func (f failure) Error() string { return string(f) }

// failf returns an error value. Its arguments must not contain data.
func failf(format string, args ...any) ref.Val {
	return types.WrapErr(failure(fmt.Sprintf(format, args...)))
}

// failed converts an evaluation error.
func (p *Program) failed(err error) *Error {
	var placed *Error
	if errors.As(err, &placed) {
		return placed // It happened in a let.
	}
	out := &Error{Pos: p.Pos(), Message: "the expression failed"}
	var cancelled interpreter.EvalCancelledError
	var celErr *types.Err
	switch {
	case errors.As(err, &cancelled):
		out.Message = fmt.Sprintf("the loops of the rule cost more than their budget of %d units: loop over less, or "+
			"compute what repeats once, in let", p.budget)
	case errors.Is(err, interpreter.InterruptError{}):
		out.Message = "the loops of the rule ran out of time: loop over less, or compute what repeats once, in let"
	case errors.As(err, &celErr):
		node := NodeOf(p.ast, celErr.NodeID())
		if node != nil {
			out.Pos = p.position(node.ID())
		}
		var said authored
		if out.Authored = errors.As(celErr.Unwrap(), &said); out.Authored {
			out.Message = string(said)
			break
		}
		out.Message = p.inlined.within(celErr.NodeID()) + describeFailure(celErr.Unwrap(), node)
	}
	return out
}

// position returns the position of a node: for one of a function, that of the call.
func (p *Program) position(node int64) source.Pos {
	if p.inlined != nil {
		if at := p.inlined.at[node]; at.of != nil && !at.of.IsFunction() {
			return at.pos // It is the value that is being computed.
		}
	}
	return Position(p.src, p.ast, node)
}

// describeFailure explains an error at a node. It does not use CEL's messages, which quote
// values.
func describeFailure(err error, node ast.Expr) string {
	var f failure
	if errors.As(err, &f) {
		return string(f)
	}
	message := err.Error()
	switch message {
	case "division by zero", "modulus by zero", "integer overflow", "unsigned integer overflow",
		"duration overflow", "timestamp overflow", "optional.none() dereference":
		return message
	}
	name := ""
	if node != nil {
		name = nodeName(node)
	}
	switch {
	case strings.HasPrefix(message, "no such key"):
		if name != "" && (node.Kind() == ast.SelectKind || isIndex(node)) {
			return "no such key: " + name
		}
		return "no such key"
	case strings.HasPrefix(message, "index out of bounds"):
		return "index out of bounds"
	case node != nil && node.Kind() == ast.CallKind && node.AsCall().FunctionName() == operators.Conditional:
		return "the condition is neither true nor false"
	case strings.HasPrefix(message, "no such overload"):
		if name != "" && node.Kind() == ast.CallKind {
			return name + " does not take values of these types"
		}
		return "the expression does not take values of these types"
	case name != "" && node.Kind() == ast.SelectKind:
		return "the value has no fields, and so no " + name
	case node != nil && isIndex(node):
		return "the value cannot be indexed like this"
	case name != "" && node.Kind() == ast.CallKind:
		return name + " failed: it does not take this value"
	}
	return "the expression failed"
}

// nodeName returns the field or function that a node names.
func nodeName(node ast.Expr) string {
	switch node.Kind() {
	case ast.SelectKind:
		return node.AsSelect().FieldName()
	case ast.CallKind:
		c := node.AsCall()
		if isIndex(node) {
			if key, ok := c.Args()[1].AsLiteral().(types.String); ok && c.Args()[1].Kind() == ast.LiteralKind {
				return string(key)
			}
			return ""
		}
		if symbol, ok := operators.FindReverse(c.FunctionName()); ok {
			return "'" + symbol + "'"
		}
		return c.FunctionName() + "()"
	}
	return ""
}

// The steps of expressions with loops have the costs that CEL gives them. CEL's own tracker
// is not used: it searches the values of all steps of a loop for the arguments of each call,
// which takes time that grows with the square of the elements.
const (
	selectionCost = 1 // of a variable, and of each step from it
	callCost      = 1
	listCost      = 10
	mapCost       = 30
	quantityCost  = 10 // of a call, for each argument that is a quantity
	// perCost is how many bytes of text cost a unit.
	perCost = 10
)

// A meter charges the steps of an expression with loops. A nil meter charges nothing.
type meter struct{ budget uint64 }

// spend adds to what the loops of the rule cost, and ends the evaluation if that is more
// than their budget.
func (m *meter) spend(frame *interpreter.ExecutionFrame, cost uint64) {
	if m == nil {
		return
	}
	if w := workerOf(frame); w != nil && w.Spend(cost) > m.budget {
		panic(interpreter.EvalCancelledError{Cause: interpreter.CostLimitExceeded, Message: "the budget of loops is spent"})
	}
}

// cost returns the cost of a call with n arguments, which grows with the length of texts.
func (c *guardedCall) cost(args operands, result ref.Val) uint64 {
	cost, product := callCost+uint64(byteLength(result)/perCost), uint64(1)
	for _, arg := range args[:len(c.args)] {
		n := uint64(byteLength(arg) / perCost)
		switch arg := arg.(type) {
		case types.String, types.Bytes:
		case traits.Lister:
			if c.visitsElements {
				n = uint64(sizeOf(arg))
			}
		default:
			if _, ok := quantityOf(arg); ok {
				n = quantityCost
			}
		}
		cost += n
		product *= 1 + n
	}
	if c.Function() == overloads.Matches || c.Function() == overloads.Contains {
		return product
	}
	return cost
}

// wrap wraps a node of the plan of an expression with loops, if it costs something and does
// not charge it itself.
func (m *meter) wrap(node interpreter.InterpretableV2) interpreter.InterpretableV2 {
	if m == nil {
		return node
	}
	switch n := node.(type) {
	case *guardedCall, *attribute:
	case interpreter.InterpretableCall:
		return &meteredCall{n, m}
	case interpreter.InterpretableConstructor:
		if isConstant(n) {
			return node // It is created once, when the expression is planned.
		}
		cost := uint64(listCost)
		if n.Type() == types.MapType {
			cost = mapCost
		}
		return &meteredConstructor{n, m, cost}
	}
	return node
}

func isConstant(c interpreter.InterpretableConstructor) bool {
	return !slices.ContainsFunc(c.InitVals(), func(v interpreter.InterpretableV2) bool {
		_, constant := v.(interpreter.InterpretableConst)
		return !constant
	})
}

// A meteredCall is one whose arguments do not matter for its cost.
type meteredCall struct {
	interpreter.InterpretableCall
	meter *meter
}

func (c *meteredCall) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	v := c.InterpretableCall.Exec(frame)
	c.meter.spend(frame, callCost+uint64(byteLength(v)/perCost))
	return v
}

// Eval is Exec for callers of CEL's older interface.
func (c *meteredCall) Eval(vars interpreter.Activation) ref.Val {
	return c.Exec(interpreter.AsFrame(vars))
}

// A meteredConstructor creates a list or map.
type meteredConstructor struct {
	interpreter.InterpretableConstructor
	meter *meter
	cost  uint64
}

func (c *meteredConstructor) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	c.meter.spend(frame, c.cost)
	return c.InterpretableConstructor.Exec(frame)
}

// Eval is Exec for callers of CEL's older interface.
func (c *meteredConstructor) Eval(vars interpreter.Activation) ref.Val {
	return c.Exec(interpreter.AsFrame(vars))
}

// byteLength is the length of text and bytes.
func byteLength(v ref.Val) int {
	if b, ok := v.(types.Bytes); ok {
		return len(b)
	}
	return len(textOf(v))
}
