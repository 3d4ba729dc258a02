package expr

import (
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/interpreter"
)

const (
	// budget is what the loops of one rule may cost for one object, in CEL's
	// units: about a fifth of a second of work.
	budget = 400_000
	// MaxWork is how many values all expressions of a rule may look at for one
	// object: about a fifth of a second of work.
	MaxWork = 2_000_000
	// freeWork is not worth being added up.
	freeWork = 20
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

// A limit measures a call by its arguments, before it is made. A nil function
// measures nothing.
type limit struct {
	// work is how many values the call has to look at. It is added up over all
	// expressions of a rule.
	work func(operands) int
	// output describes a result that would be too large, like "more than 256 KiB
	// of text", and is "" otherwise.
	output func(operands) string
}

// limits are those of the functions that have no loop of their own and take long
// all the same, or much memory: they compare every element with every other, make
// new lists, repeat their arguments, or walk values in which lets have put the
// same part many times.
var limits = map[string]limit{
	operators.Add:       {output: sumOutput},
	operators.Equals:    {work: equalWork},
	operators.NotEquals: {work: equalWork},
	operators.In:        {work: inWork},
	"replace":           {output: replaceOutput},
	"join":              {output: joinOutput},
	"format":            {output: formatOutput},
	"distinct":          {work: func(a operands) int { return comparisons(a[0], a[0]) / 2 }},
	"sets.contains":     {work: func(a operands) int { return comparisons(a[0], a[1]) }},
	"sets.intersects":   {work: func(a operands) int { return comparisons(a[0], a[1]) }},
	"sets.equivalent":   {work: func(a operands) int { return 2 * comparisons(a[0], a[1]) }},
	"indexOf":           {work: searchWork},
	"lastIndexOf":       {work: searchWork},
	"merge":             {work: func(a operands) int { return copiedEntry * (sizeOf(a[0]) + sizeOf(a[1])) }},
	"deepMerge":         {work: func(a operands) int { return copiedEntry * (countValues(a[0], MaxWork) + countValues(a[1], MaxWork)) }},
	"flatten":           {work: func(a operands) int { return countValues(a[0], MaxWork+1) }},
	"sort":              {work: sortWork},
	sortBy:              {work: sortWork},
	"reverse":           {work: copyWork},
	"slice":             {work: copyWork},
	"sum":               {work: func(a operands) int { return sizeOf(a[0]) }},
	"split":             {work: splitWork},
	overloads.Matches:   {work: matchWork},
	"find":              {work: matchWork},
	"findAll":           {work: findAllWork},
	"json.unmarshal":    {work: func(a operands) int { return len(textOf(a[0])) / 2 }},
	"json.marshal":      {work: func(a operands) int { return printWork(a[0], MaxWork+1) }},
	"yaml.marshal":      {work: func(a operands) int { return 32 * printWork(a[0], MaxWork+1) }},
	"quantity":          {work: quantityWork},
	"isQuantity":        {work: quantityWork},
	"hash.sha256":       {work: hashWork},
	"hash.md5":          {work: hashWork},
	"hash.fnv64a":       {work: hashWork},
}

// sortBy is what the macro sortBy() calls.
const sortBy = "@sortByAssociatedKeys"

// A Worker is an activation that adds up the work of a rule's expressions. It
// reports whether that is still within bounds.
type Worker interface{ Work(values int) bool }

// exceedsWork reports whether n values are more than the rule may still look at.
func exceedsWork(frame *interpreter.ExecutionFrame, n int) bool {
	return n > freeWork && (n > MaxWork || !charge(frame, n))
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
