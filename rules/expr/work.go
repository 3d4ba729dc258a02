package expr

import (
	"strconv"
	"strings"

	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// Some calls without a loop of their own take long, or much memory: they compare
// every element with every other, make new lists, or walk values in which lets
// have put the same part many times. What each of them would have to look at is
// counted beforehand, and added up over a rule.
const (
	maxWork = 2_000_000 // values looked at, about a fifth of a second
	noWork  = 20        // not worth being added up
)

// A Worker is an activation that adds up the work of a rule's expressions. It
// reports whether that is still within bounds.
type Worker interface{ Work(values int) bool }

// MaxWork is how much all expressions of a rule may work for one object.
const MaxWork = maxWork

// works lists the functions that are weighed, with the number of values that
// each may have to look at.
var works = map[string]func(args []ref.Val) int{
	operators.In:      weighIn,
	"distinct":        func(args []ref.Val) int { return pairs(args[0], args[0]) / 2 },
	"sets.contains":   func(args []ref.Val) int { return pairs(args[0], args[1]) },
	"sets.intersects": func(args []ref.Val) int { return pairs(args[0], args[1]) },
	"sets.equivalent": func(args []ref.Val) int { return 2 * pairs(args[0], args[1]) },
	"merge":           func(args []ref.Val) int { return copiedEntry * (size(args[0]) + size(args[1])) },
	"deepMerge":       func(args []ref.Val) int { return copiedEntry * (values(args[0], maxWork) + values(args[1], maxWork)) },
	"flatten":         func(args []ref.Val) int { return values(args[0], maxWork+1) },
	"sort":            func(args []ref.Val) int { return 20 * size(args[0]) },
	sortBy:            func(args []ref.Val) int { return 20 * size(args[0]) },
	"reverse":         func(args []ref.Val) int { return copiedElement * size(args[0]) },
	"slice":           func(args []ref.Val) int { return copiedElement * size(args[0]) },
	"sum":             func(args []ref.Val) int { return size(args[0]) },
	"split":           weighSplit,
	"matches":         weighMatch,
	"find":            weighMatch,
	"findAll":         weighMatches,
	"json.unmarshal":  func(args []ref.Val) int { return len(text(args[0])) / 2 },
	"json.marshal":    func(args []ref.Val) int { return printed(args[0], maxWork+1) },
	"yaml.marshal":    func(args []ref.Val) int { return 32 * printed(args[0], maxWork+1) },
	"quantity":        weighQuantity,
	"isQuantity":      weighQuantity,
	"hash.sha256":     weighText,
	"hash.md5":        weighText,
	"hash.fnv64a":     weighText,
	"indexOf":         func(args []ref.Val) int { return pairs(args[0], args[0]) / max(1, size(args[0])) },
	"lastIndexOf":     func(args []ref.Val) int { return pairs(args[0], args[0]) / max(1, size(args[0])) },
}

// sortBy is what the macro sortBy() calls.
const sortBy = "@sortByAssociatedKeys"

// What is copied takes as much memory as so many values.
const (
	copiedEntry   = 8 // of a map
	copiedElement = 4 // of a list
)

// perValue is how many bytes of text take as long as a value.
const perValue = 32

func weighText(args []ref.Val) int { return len(text(args[0])) / perValue }

// weighSplit counts the parts that a text falls into.
func weighSplit(args []ref.Val) int {
	return weighText(args) + strings.Count(text(args[0]), text(args[1]))
}

// weighQuantity is the work of reading a number, whose digits the exponent
// brings with it: 1e9999 has so many.
func weighQuantity(args []ref.Val) int {
	s := text(args[0])
	digits := len(s)
	if i := strings.LastIndexAny(s, "eE"); i >= 0 {
		if exponent, err := strconv.Atoi(s[i+1:]); err == nil {
			digits += max(exponent, -exponent)
		}
	}
	digits = min(digits, maxWork)
	return digits * digits / 64
}

// weighBoth is the work of going through two values at once.
func weighBoth(a, b ref.Val) int {
	if !container(a) || !container(b) {
		return 0
	}
	return values(b, values(a, maxWork+1))
}

func weighIn(args []ref.Val) int {
	if _, isList := args[1].(traits.Lister); !isList {
		return 0
	}
	return size(args[1]) * values(args[0], maxWork+1)
}

// pairs is the work of comparing the elements of two lists with each other.
func pairs(a, b ref.Val) int {
	return min(size(a)*values(b, maxWork+1), size(b)*values(a, maxWork+1))
}

func container(v ref.Val) bool {
	switch v.(type) {
	case traits.Mapper, traits.Lister:
		return true
	}
	return false
}

func size(v ref.Val) int {
	if s, ok := v.(traits.Sizer); ok && container(v) {
		n, _ := s.Size().(types.Int)
		return int(n)
	}
	return 1
}

// values counts the values that v is made of, up to most.
func values(v ref.Val, most int) int {
	n := 1
	switch v := v.(type) {
	case traits.Mapper:
		for it := v.Iterator(); it.HasNext() == types.True && n < most; {
			n += values(v.Get(it.Next()), most-n)
		}
	case traits.Lister:
		for it := v.Iterator(); it.HasNext() == types.True && n < most; {
			n += values(it.Next(), most-n)
		}
	case *types.Optional:
		if v.HasValue() {
			return values(v.GetValue(), most)
		}
	}
	return min(n, most)
}

// printed is the work of writing a value as text, up to most.
func printed(v ref.Val, most int) int {
	n := 1
	switch v := v.(type) {
	case types.String:
		n += len(v) / perValue
	case types.Bytes:
		n += len(v) / perValue
	case traits.Mapper:
		for it := v.Iterator(); it.HasNext() == types.True && n < most; {
			key := it.Next()
			n += printed(key, most-n) + printed(v.Get(key), most-n)
		}
	case traits.Lister:
		for it := v.Iterator(); it.HasNext() == types.True && n < most; {
			n += printed(it.Next(), most-n)
		}
	case *types.Optional:
		if v.HasValue() {
			return printed(v.GetValue(), most)
		}
	}
	return min(n, most)
}

// A weighedCall evaluates its arguments, weighs the work, and makes the call.
type weighedCall struct {
	interpreter.InterpretableCall
	weigh func(args []ref.Val) int
	run   func(args []ref.Val) ref.Val
}

// Exec treats errors and unknowns among the arguments as every strict
// function does.
func (c *weighedCall) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	args, stop := arguments(c, frame)
	if stop != nil {
		return stop
	}
	if tooMuch(frame, c.weigh(args)) {
		return types.LabelErrNode(c.ID(), muchToDo(c.name()))
	}
	return types.LabelErrNode(c.ID(), c.run(args))
}

// Eval is Exec for callers of CEL's older interface.
func (c *weighedCall) Eval(vars interpreter.Activation) ref.Val {
	return c.Exec(interpreter.AsFrame(vars))
}

func (c *weighedCall) name() string {
	if symbol, ok := operators.FindReverse(c.Function()); ok && symbol != "" {
		return "'" + symbol + "'"
	}
	if c.Function() == sortBy {
		return "sortBy()"
	}
	return c.Function() + "()"
}

// An equation is == or !=, of which there are many: it takes no memory.
type equation struct {
	interpreter.InterpretableCall
	left, right interpreter.InterpretableV2
}

// Exec compares as CEL does, but not beyond a size.
func (q *equation) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	left, right, stop := operands(q.left, q.right, frame)
	if stop != nil {
		return stop
	}
	if tooMuch(frame, weighBoth(left, right)) {
		return types.LabelErrNode(q.ID(), muchToDo("'=='"))
	}
	equal := types.Equal(left, right)
	if q.Function() == operators.NotEquals {
		return types.Bool(equal != types.True)
	}
	return equal
}

// Eval is Exec for callers of CEL's older interface.
func (q *equation) Eval(vars interpreter.Activation) ref.Val {
	return q.Exec(interpreter.AsFrame(vars))
}

func muchToDo(name string) ref.Val {
	return fail("%s has too much to look at: the expressions of a rule may look at %d values, give it less", name, maxWork)
}

// tooMuch reports whether n values are more than a rule may look at yet.
func tooMuch(frame *interpreter.ExecutionFrame, n int) bool {
	return n > noWork && (n > maxWork || !charge(frame, n))
}

// charge adds work to that of the rule, and reports whether it may be done.
func charge(frame *interpreter.ExecutionFrame, n int) bool {
	for a := interpreter.Activation(frame); a != nil; a = a.Parent() {
		if f, ok := a.(*interpreter.ExecutionFrame); ok {
			if w, ok := f.Activation.(Worker); ok {
				return w.Work(n)
			}
		}
		if w, ok := a.(Worker); ok {
			return w.Work(n)
		}
	}
	return true
}

// weighed puts a scale before a call that may have much to compare.
func (e *environment) weighed(call interpreter.InterpretableCall, weigh func([]ref.Val) int) interpreter.InterpretableV2 {
	out := &weighedCall{InterpretableCall: call, weigh: weigh}
	switch call.Function() {
	case operators.In:
		out.run = func(args []ref.Val) ref.Val {
			if c, ok := args[1].(traits.Container); ok {
				return c.Contains(args[0])
			}
			return types.MaybeNoSuchOverloadErr(args[1])
		}
	default:
		impl := e.implementation(call)
		if impl == nil {
			return call
		}
		out.run = func(args []ref.Val) ref.Val { return callOverload(impl, args) }
	}
	return out
}
