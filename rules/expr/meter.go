package expr

import (
	"slices"

	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

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
