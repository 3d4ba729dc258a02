package expr

import (
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/interpreter"
)

const (
	// budget is the cost of one rule's loops for one object, in CEL's units. It takes
	// less than a tenth of a second.
	budget = 400_000
	// mostBudget is the budget of rules with large collections, see Scope.ForObjects. It takes less
	// than half a second.
	mostBudget = 4 * budget
	// MaxWork is how many values all expressions of one rule may look at for one
	// object. It takes about a fifth of a second.
	MaxWork = 2_000_000
	// Up to freeWork, work is not added up.
	freeWork = 20
	// maxOutput bounds the text that one call makes. CEL charges a call only after
	// it has allocated the memory.
	maxOutput = 256 << 10
	// maxLoop bounds the elements of one loop.
	maxLoop = 10_000
	// maxElements bounds a list that '+' makes.
	maxElements = 100_000
)

// A limit measures a call by its arguments, before the call is made. A nil function
// measures nothing.
type limit struct {
	// work is how many values the call looks at. All expressions of a rule share
	// one sum.
	work func(operands) int
	// measure is the work of measuring itself. Its result is added first.
	measure func(operands) int
	// pattern is that of a function whose second argument is a pattern.
	pattern patternWork
	// output describes a result that would be too large, like "more than 256 KiB
	// of text". It is "" otherwise.
	output func(operands) string
}

// limits are those of functions without a loop that may take long or much memory: they
// compare all pairs of elements, make new lists, repeat their arguments, or walk values
// in which lets repeat the same part many times.
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
	"deepMerge": {work: func(a operands) int {
		return copiedEntry * (countValues(a[0], MaxWork) + countValues(a[1],
			MaxWork))
	}},
	"mergePodTemplate": {work: func(a operands) int {
		return copiedEntry * (countValues(a[0], MaxWork) + countValues(a[1],
			MaxWork))
	}},
	"mergeBy": {work: func(a operands) int {
		return copiedEntry * (countValues(a[0], MaxWork) + countValues(a[1],
			MaxWork))
	}},
	"flatten":         {work: func(a operands) int { return countValues(a[0], MaxWork+1) }},
	"sort":            {work: sortWork},
	sortBy:            {work: sortWork},
	"reverse":         {work: copyWork},
	"slice":           {work: copyWork},
	setAtIndex:        {work: copyWork},
	insertAtIndex:     {work: copyWork},
	removeAtIndex:     {work: copyWork},
	"sum":             {work: func(a operands) int { return sizeOf(a[0]) }},
	"split":           {work: splitWork},
	rangeFunction:     {work: rangeWork},
	overloads.Matches: patternLimit(matchWork),
	"find":            patternLimit(matchWork),
	"findAll":         patternLimit(findAllWork),
	regexExtract:      patternLimit(matchWork),
	regexExtractAll:   patternLimit(findAllWork),
	regexReplace:      patternLimit(regexReplaceWork).andOutput(regexReplaceOutput),
	"json.unmarshal":  {work: func(a operands) int { return len(textOf(a[0])) / 2 }},
	"json.marshal":    {work: func(a operands) int { return printWork(a[0], MaxWork+1) }},
	"yaml.marshal":    {work: func(a operands) int { return 32 * printWork(a[0], MaxWork+1) }},
	"yaml.unmarshal":  {work: readYAMLWork},
	"url.escape": {work: hashWork, output: func(a operands) string {
		return excessOutput(
			escapedLength(textOf(a[0])), "text")
	}},
	"quantity":      {work: quantityWork},
	"isQuantity":    {work: quantityWork},
	Present:         {work: func(a operands) int { return copiedEntry * sizeOf(a[0]) }},
	elapsedFunction: {},
	cronFunction:    {work: func(a operands) int { return cronWork + len(textOf(a[0])) }},
	"hash.sha256":   {work: hashWork},
	"hash.md5":      {work: hashWork},
	"hash.fnv64a":   {work: hashWork},
}

// andOutput returns the limit with another measure of results.
func (l limit) andOutput(output func(operands) string) limit {
	l.output = output
	return l
}

const rangeFunction = "lists.range"

// sortBy is the function that the macro sortBy() calls.
const sortBy = "@sortByAssociatedKeys"

// A Worker is an activation that adds up the work of a rule's expressions, and knows which objects are wanted.
type Worker interface {
	// Work reports whether the sum is within MaxWork.
	Work(values int) bool
	// Spend adds to the cost of loops, and returns the sum.
	Spend(cost uint64) uint64
	// Name reports whether one more missing value may be named: see MaxNamed.
	Name() bool
	// Excluded reports whether a value will never be known, because it waits for an object that is not wanted.
	Excluded(u *types.Unknown) bool
}

// MaxNamed limits how many missing values of a rule have the name of their object. CEL copies the trails of unknown
// values at each step, so many different ones would take long.
const MaxNamed = 32

// exceedsWork reports whether n values are more than the rule may still look at.
func exceedsWork(frame *interpreter.ExecutionFrame, n int) bool {
	return n > freeWork && (n > MaxWork || !chargeWork(frame, n))
}

// chargeWork adds n values to the work of the rule, and reports whether it may go on.
func chargeWork(frame *interpreter.ExecutionFrame, n int) bool {
	w := workerOf(frame)
	return w == nil || w.Work(n)
}

// workerOf returns the activation that adds up the work, or nil.
func workerOf(frame *interpreter.ExecutionFrame) Worker {
	for a := interpreter.Activation(frame); a != nil; a = a.Parent() {
		if f, ok := a.(*interpreter.ExecutionFrame); ok {
			if w, ok := f.Activation.(Worker); ok {
				return w
			}
		}
		if w, ok := a.(Worker); ok {
			return w
		}
	}
	return nil
}
