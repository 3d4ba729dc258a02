package expr

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// operands are the arguments of a call, its target first. Passing them by value
// saves an allocation. No guarded function takes more than four.
type operands [4]ref.Val

// A guardedCall evaluates its arguments, measures the call, and makes it if it is
// within its limit.
type guardedCall struct {
	interpreter.InterpretableCall
	args  []interpreter.InterpretableV2
	limit limit
	run   func(operands) ref.Val
	timed func(*Clock, operands) ref.Val // instead of run, for functions of time
	meter *meter
	// visitsElements reports whether the call may look at all elements of a list, and no limit
	// counts them as work.
	visitsElements bool
}

// guard wraps a call in the limit of its function, if it has one, or if a meter has to know
// its arguments. string() is wrapped for its form, and functions of time for their time zone.
func (e *environment) guard(call interpreter.InterpretableCall, scope *Scope,
	m *meter) (interpreter.InterpretableV2, error) {
	l, ok := limits[call.Function()]
	if !ok && m == nil && call.Function() != overloads.TypeConvertString && !takesTimeZone(call.Function()) {
		return call, nil
	}
	if call.Function() == rangeFunction {
		l.output = scope.rangeOutput
	}
	g := &guardedCall{InterpretableCall: call, args: call.Args(), limit: l, run: e.runner(call),
		timed: timed[call.Function()], meter: m, visitsElements: !ok && call.Function() != overloads.Size}
	if len(g.args) > len(operands{}) || g.run == nil && g.timed == nil {
		return call, nil
	}
	if err := g.checkConstants(); err != nil || g.timed != nil {
		return g, err
	}
	if l.pattern != nil && len(g.args) > 1 {
		if pattern, ok := g.args[1].(interpreter.InterpretableConst); ok {
			return g.withPattern(textOf(pattern.Value()))
		}
	}
	return g, nil
}

// runner returns what makes a call, or nil if no implementation is known.
func (e *environment) runner(call interpreter.InterpretableCall) func(operands) ref.Val {
	switch call.Function() {
	case operators.Add:
		return addValues
	case operators.Equals:
		return equalValues
	case operators.NotEquals:
		return func(a operands) ref.Val { return types.Bool(equalValues(a) != types.True) }
	}
	overload := e.overloads[call.OverloadID()]
	if overload == nil {
		overload = e.overloads[call.Function()]
	}
	if overload == nil || overload.NonStrict {
		return nil
	}
	n := len(call.Args())
	run := func(a operands) ref.Val {
		if overload.OperandTrait != 0 && !a[0].Type().HasTrait(overload.OperandTrait) {
			return receive(call, a, n)
		}
		return callOverload(overload, a, n)
	}
	if takesTimeZone(call.Function()) {
		return inTimeZone(call.Function(), run)
	}
	switch call.Function() {
	case "sum":
		return sumValues(run)
	case "indexOf":
		return findText(run, firstIndex)
	case "lastIndexOf":
		return findText(run, lastIndex)
	case "quantity":
		return readQuantity(run)
	case overloads.TypeConvertString:
		return printValue(run)
	}
	return run
}

// equalValues compares quantities itself. Kubernetes' library does not know pointers on the
// right side, and returns them from add() and sub().
func equalValues(a operands) ref.Val {
	if q, ok := quantityOf(a[0]); ok {
		if other, ok := quantityOf(a[1]); ok {
			return types.Bool(q.Equal(*other))
		}
	}
	return types.Equal(wholeOf(a[0]), wholeOf(a[1]))
}

func addValues(a operands) ref.Val {
	if adder, ok := a[0].(traits.Adder); ok {
		return adder.Add(a[1])
	}
	return noOverload()
}

// noOverload returns CEL's error for arguments of the wrong types. CEL's own value is
// shared by the whole process and cannot record a position.
func noOverload() ref.Val { return types.NewErr("no such overload") }

// receive lets the first argument make a call that its type implements.
func receive(call interpreter.InterpretableCall, a operands, n int) ref.Val {
	if r, ok := a[0].(traits.Receiver); ok && a[0].Type().HasTrait(traits.ReceiverType) {
		return r.Receive(call.Function(), call.OverloadID(), slices.Clone(a[1:n]))
	}
	return noOverload()
}

func callOverload(o *functions.Overload, a operands, n int) ref.Val {
	switch {
	case n == 1 && o.Unary != nil:
		return o.Unary(a[0])
	case n == 2 && o.Binary != nil:
		return o.Binary(a[0], a[1])
	case o.Function != nil:
		return o.Function(slices.Clone(a[:n])...)
	}
	return failf("no such overload")
}

func (c *guardedCall) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	var a operands
	if missing := c.evaluate(frame, &a); missing != nil {
		return missing
	}
	return c.call(frame, a)
}

// evaluate evaluates the arguments into a. missing is the result of the call if one of them is an error or unknown,
// like that of every strict function.
func (c *guardedCall) evaluate(frame *interpreter.ExecutionFrame, a *operands) (missing ref.Val) {
	var unknown *types.Unknown
	for i, arg := range c.args {
		a[i] = arg.Exec(frame)
		if types.IsError(a[i]) {
			return a[i]
		}
		unknown, _ = types.MaybeMergeUnknowns(a[i], unknown)
	}
	if unknown != nil {
		return unknown
	}
	return nil
}

// call measures the call for its arguments, and makes it.
func (c *guardedCall) call(frame *interpreter.ExecutionFrame, a operands) ref.Val {
	sizes := a.unfollowed()
	if c.limit.measure != nil && exceedsWork(frame, c.limit.measure(sizes)) {
		return types.LabelErrNode(c.ID(), tooMuchWork(c.label()))
	}
	if c.limit.work != nil && exceedsWork(frame, c.limit.work(sizes)) {
		return types.LabelErrNode(c.ID(), tooMuchWork(c.label()))
	}
	if c.limit.output != nil {
		if output := c.limit.output(sizes); output != "" {
			return types.LabelErrNode(c.ID(), failf("%s would make %s", c.label(), output))
		}
	}
	if c.timed != nil {
		return types.LabelErrNode(c.ID(), c.timed(clockOf(frame), a))
	}
	result := c.run(a)
	if c.meter != nil {
		c.meter.spend(frame, c.cost(a, result))
	}
	return types.LabelErrNode(c.ID(), result)
}

// Eval is Exec for callers of CEL's older interface.
func (c *guardedCall) Eval(vars interpreter.Activation) ref.Val {
	return c.Exec(interpreter.AsFrame(vars))
}

// label returns the function as messages show it.
func (c *guardedCall) label() string {
	switch name := c.Function(); name {
	case operators.NotEquals:
		return "'=='"
	case sortBy:
		return "sortBy()"
	case selectsFunction:
		return "selects()"
	default:
		if symbol, ok := operators.FindReverse(name); ok && symbol != "" {
			return "'" + symbol + "'"
		}
		return name + "()"
	}
}

// findText searches texts in linear time. CEL compares the part at each position.
func findText(run func(operands) ref.Val, find func(text, part string, from types.Int) int) func(operands) ref.Val {
	return func(a operands) ref.Val {
		text, isText := a[0].(types.String)
		part, isPart := a[1].(types.String)
		from, isOffset := a[2].(types.Int)
		if a[2] == nil {
			from = types.IntNegOne
		}
		if !isText || !isPart || part == "" || a[2] != nil && (!isOffset || from < 0) {
			return run(a)
		}
		at := find(string(text), string(part), from)
		if at < 0 {
			return types.IntNegOne
		}
		return types.Int(utf8.RuneCountInString(string(text[:at])))
	}
}

// firstIndex returns where the first part of a text begins, in bytes, from a character on, or from its begin if that is
// negative. It returns -1 if the text does not contain the part.
func firstIndex(text, part string, from types.Int) int {
	skipped := 0
	if from > 0 {
		if skipped = byteAt(text, from); skipped < 0 {
			return -1
		}
	}
	at := strings.Index(text[skipped:], part)
	if at < 0 {
		return -1
	}
	return skipped + at
}

// lastIndex returns where the last part of a text begins, in bytes, up to a character, or up to its end if that is
// negative. It returns -1 if the text does not contain the part.
func lastIndex(text, part string, upTo types.Int) int {
	if upTo >= 0 {
		at := byteAt(text, upTo)
		if at < 0 {
			return -1
		}
		text = text[:min(len(text), at+len(part))]
	}
	return strings.LastIndex(text, part)
}

// byteAt returns where a character of a text begins, or -1 if it has fewer.
func byteAt(text string, character types.Int) int {
	n := types.Int(0)
	for at := range text {
		if n == character {
			return at
		}
		n++
	}
	return -1
}
