package expr

import (
	"strings"

	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
	"k8s.io/apiserver/pkg/cel/library"
)

const (
	// budget is what the loops of one rule may cost for one object, in CEL's
	// units: about a fifth of a second of work.
	budget = 400_000
	// maxOutput bounds the text that one function call may make. CEL charges
	// a call after it was made, when the memory is gone already.
	maxOutput = 256 << 10
	// maxLoop bounds what one loop runs over. CEL's count of the cost takes a time
	// that grows with the square of it: a tenth of a second for so many, and
	// many seconds before the budget stops ten times as many. So the square
	// divided by perSquare counts as values looked at.
	maxLoop   = 10_000
	perSquare = 100
	// maxElements bounds a list that is put together from lists.
	maxElements = 100_000
)

// bounds lists the functions whose result can be far larger than their
// arguments, with an upper bound of that size from the arguments alone.
var bounds = map[string]func(args []ref.Val) int{
	"replace": boundReplace,
	"join":    boundJoin,
	"format":  boundFormat,
}

func boundReplace(args []ref.Val) int {
	s, from, to := text(args[0]), text(args[1]), text(args[2])
	n := strings.Count(s, from)
	return len(s) + n*max(0, len(to)-len(from))
}

func boundJoin(args []ref.Val) int {
	list, ok := args[0].(traits.Lister)
	if !ok {
		return 0
	}
	separator := 0
	if len(args) > 1 {
		separator = len(text(args[1]))
	}
	total := 0
	for it := list.Iterator(); it.HasNext() == types.True && total <= maxOutput; {
		total += len(text(it.Next())) + separator
	}
	return total
}

// boundFormat adds up the text of the arguments; no verb makes more than four
// characters of one, and what is neither text nor container fits into a
// hundred digits and the precision's hundred.
func boundFormat(args []ref.Val) int {
	return len(text(args[0])) + printedSize(args[1], maxOutput)
}

func printedSize(v ref.Val, left int) int {
	total := 0
	switch v := v.(type) {
	case types.String:
		return 4 * len(v)
	case types.Bytes:
		return 4 * len(v)
	case traits.Mapper:
		for it := v.Iterator(); it.HasNext() == types.True && total <= left; {
			key := it.Next()
			total += 4 + printedSize(key, left-total) + printedSize(v.Get(key), left-total)
		}
	case traits.Lister:
		for it := v.Iterator(); it.HasNext() == types.True && total <= left; {
			total += 2 + printedSize(it.Next(), left-total)
		}
	case types.Double:
		return 512
	default:
		return 64
	}
	return total
}

func text(v ref.Val) string {
	s, _ := v.(types.String)
	return string(s)
}

// bound puts a check before a call that could make too much.
func (e *environment) bound(call interpreter.InterpretableCall) (interpreter.InterpretableV2, error) {
	if call.Function() == operators.Add && len(call.Args()) == 2 {
		args := call.Args()
		return &addition{call, args[0], args[1]}, nil
	}
	if args := call.Args(); call.Function() == operators.Equals || call.Function() == operators.NotEquals {
		return &equation{call, args[0], args[1]}, nil
	}
	if isMatch(call) {
		if pattern, ok := call.Args()[1].(interpreter.InterpretableConst); ok {
			return e.matched(call, text(pattern.Value()))
		}
	}
	if weigh, ok := works[call.Function()]; ok {
		return e.weighed(call, weigh), nil
	}
	size, ok := bounds[call.Function()]
	if !ok {
		return call, nil
	}
	impl := e.implementation(call)
	if impl == nil {
		return call, nil
	}
	return &boundedCall{call, size, impl}, nil
}

// implementation returns what runs a call, nil if the environment does not say.
func (e *environment) implementation(call interpreter.InterpretableCall) *functions.Overload {
	if impl := e.bounded[call.OverloadID()]; impl != nil {
		return impl
	}
	return e.bounded[call.Function()]
}

// A boundedCall evaluates its arguments, looks at them, and makes the call.
type boundedCall struct {
	interpreter.InterpretableCall
	size func(args []ref.Val) int
	impl *functions.Overload
}

// Exec treats errors and unknowns among the arguments as every strict
// function does.
func (c *boundedCall) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	args, stop := arguments(c, frame)
	if stop != nil {
		return stop
	}
	if c.size(args) > maxOutput {
		return types.LabelErrNode(c.ID(), fail("%s() would make more than %d KiB of text", c.Function(), maxOutput>>10))
	}
	return types.LabelErrNode(c.ID(), callOverload(c.impl, args))
}

// Eval is Exec for callers of CEL's older interface.
func (c *boundedCall) Eval(vars interpreter.Activation) ref.Val {
	return c.Exec(interpreter.AsFrame(vars))
}

// arguments evaluates the arguments of a call, and returns instead what a strict
// function gives for an error or an unknown among them.
func arguments(c interpreter.InterpretableCall, frame *interpreter.ExecutionFrame) (args []ref.Val, stop ref.Val) {
	args = make([]ref.Val, len(c.Args()))
	var unknown *types.Unknown
	for i, arg := range c.Args() {
		args[i] = arg.Exec(frame)
		if types.IsError(args[i]) {
			return nil, args[i]
		}
		unknown, _ = types.MaybeMergeUnknowns(args[i], unknown)
	}
	if unknown != nil {
		return nil, unknown
	}
	return args, nil
}

// operands is arguments for an operator, without taking memory.
func operands(l, r interpreter.InterpretableV2, frame *interpreter.ExecutionFrame) (left, right, stop ref.Val) {
	if left = l.Exec(frame); types.IsError(left) {
		return nil, nil, left
	}
	if right = r.Exec(frame); types.IsError(right) {
		return nil, nil, right
	}
	unknown, _ := types.MaybeMergeUnknowns(left, nil)
	if unknown, _ = types.MaybeMergeUnknowns(right, unknown); unknown != nil {
		return nil, nil, unknown
	}
	return left, right, nil
}

// An addition is `+`, which doubles what a let or cel.bind adds to itself.
type addition struct {
	interpreter.InterpretableCall
	left, right interpreter.InterpretableV2
}

// Exec adds as CEL does, but not beyond a size.
func (a *addition) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	left, right, stop := operands(a.left, a.right, frame)
	if stop != nil {
		return stop
	}
	switch l := left.(type) {
	case types.String:
		if r, ok := right.(types.String); ok && len(l)+len(r) > maxOutput {
			return types.LabelErrNode(a.ID(), fail("'+' would make more than %d KiB of text", maxOutput>>10))
		}
	case types.Bytes:
		if r, ok := right.(types.Bytes); ok && len(l)+len(r) > maxOutput {
			return types.LabelErrNode(a.ID(), fail("'+' would make more than %d KiB of bytes", maxOutput>>10))
		}
	case traits.Lister:
		if r, ok := right.(traits.Lister); ok && length(l)+length(r) > maxElements {
			return types.LabelErrNode(a.ID(), fail("'+' would make a list of more than %d elements", maxElements))
		}
	}
	adder, ok := left.(traits.Adder)
	if !ok {
		return types.NewErrWithNodeID(a.ID(), "no such overload")
	}
	return types.LabelErrNode(a.ID(), adder.Add(right))
}

// Eval is Exec for callers of CEL's older interface.
func (a *addition) Eval(vars interpreter.Activation) ref.Val {
	return a.Exec(interpreter.AsFrame(vars))
}

func length(l traits.Lister) int {
	n, _ := l.Size().(types.Int)
	return int(n)
}

// A meter charges calls that CEL would charge one unit, however much text they
// copy: those whose types only the run shows, and those that are not its own.
type meter struct{ library library.CostEstimator }

// CallCost returns the cost of a call, or nil for CEL's own judgement.
func (m *meter) CallCost(function, overloadID string, args []ref.Val, result ref.Val) *uint64 {
	if cost := m.library.CallCost(function, overloadID, args, result); cost != nil {
		return cost
	}
	cost := uint64(1 + written(result)/10)
	product := uint64(1)
	for _, arg := range args {
		n := uint64(written(arg))
		if l, ok := arg.(traits.Lister); ok && function == operators.In {
			n = uint64(length(l)) * 10
		}
		cost += n / 10
		product *= 1 + n/10
	}
	if function == overloads.Matches || function == overloads.Contains {
		cost = product
	}
	if overloadID != "" && cost < 10 {
		return nil
	}
	return &cost
}

// written is the length of text and bytes.
func written(v ref.Val) int {
	if b, ok := v.(types.Bytes); ok {
		return len(b)
	}
	return len(text(v))
}

func callOverload(impl *functions.Overload, args []ref.Val) ref.Val {
	switch {
	case len(args) == 1 && impl.Unary != nil:
		return impl.Unary(args[0])
	case len(args) == 2 && impl.Binary != nil:
		return impl.Binary(args[0], args[1])
	case impl.Function != nil:
		return impl.Function(args...)
	}
	return fail("no such overload")
}
