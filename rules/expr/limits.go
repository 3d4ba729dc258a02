package expr

import (
	"fmt"
	"strings"

	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
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
	MergeApply: {work: func(a operands) int {
		return copiedEntry * (countValues(a[1], MaxWork) + countValues(a[2], MaxWork))
	}},
	"mergeBy": {work: func(a operands) int {
		return copiedEntry * (countValues(a[0], MaxWork) + countValues(a[1],
			MaxWork))
	}},
	"flatten":           {work: func(a operands) int { return countValues(a[0], MaxWork+1) }},
	"sort":              {work: sortWork},
	sortBy:              {work: sortWork},
	"reverse":           {work: copyWork},
	"slice":             {work: copyWork},
	setAtIndex:          {work: copyWork},
	insertAtIndex:       {work: copyWork},
	removeAtIndex:       {work: copyWork},
	"sum":               {work: func(a operands) int { return sizeOf(a[0]) }},
	"split":             {work: splitWork},
	rangeFunction:       {work: rangeWork},
	overloads.Matches:   patternLimit(matchWork),
	"find":              patternLimit(matchWork),
	"findAll":           patternLimit(findAllWork),
	regexExtract:        patternLimit(matchWork),
	regexExtractAll:     patternLimit(findAllWork),
	regexReplace:        patternLimit(regexReplaceWork).andOutput(regexReplaceOutput),
	"json.unmarshal":    {work: readJSONWork},
	"json.tryUnmarshal": {work: readJSONWork},
	"json.marshal":      {work: func(a operands) int { return printWork(a[0], MaxWork+1) }},
	"yaml.marshal":      {work: func(a operands) int { return 32 * printWork(a[0], MaxWork+1) }},
	"yaml.unmarshal":    {work: readYAMLWork},
	"yaml.tryUnmarshal": {work: readYAMLWork},
	selectsFunction:     {work: selectsWork},
	"url.escape": {work: hashWork, output: func(a operands) string {
		return excessOutput(
			escapedLength(textOf(a[0])), "text")
	}},
	"certificates":  {work: func(a operands) int { return len(textOf(a[0])) / perCertificateByte }},
	"quantity":      {work: quantityWork},
	"isQuantity":    {work: quantityWork},
	Present:         {work: func(a operands) int { return copiedEntry * sizeOf(a[0]) }},
	elapsedFunction: {},
	Fail:            {},
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

// These functions measure how many values a call looks at, by its arguments alone.

// A copy takes as much memory as so many values.
const (
	copiedEntry   = 8 // of a map
	copiedElement = 4 // of a list
)

// The work of reading YAML: the parser allocates its buffers in each call, and some
// hundred bytes for a value, which may have one character.
const (
	eachYAML = 1_000
	perYAML  = 8 // byte
)

// perValue is how many bytes of text count as one value.
const perValue = 32

func tooMuchWork(name string) ref.Val {
	return failf("%s has too much to process: the expressions of a rule may process %d values, reduce its input", name,
		MaxWork)
}

// perCertificateByte is how many bytes of certificates count as one value.
const perCertificateByte = 4

// cronWork is the work of searching a schedule that has no times.
const cronWork = 500

func sortWork(a operands) int { return 20 * sizeOf(a[0]) }

// rangeWork counts the elements that only rules with large collections may make.
func rangeWork(a operands) int {
	if n, ok := a[0].(types.Int); ok && n > maxRange {
		return int(min(n, mostRange))
	}
	return 0
}

// rangeOutput describes a list that is longer than lists.range may make in this scope.
func (s *Scope) rangeOutput(a operands) string {
	if n, ok := a[0].(types.Int); ok && n > types.Int(s.most) {
		output := fmt.Sprintf("more than %d elements", s.most)
		if s.most < mostRange {
			output += fmt.Sprintf("; the maxObjects of a child allows up to %d", mostRange)
		}
		return output
	}
	return ""
}

func copyWork(a operands) int { return copiedElement * sizeOf(a[0]) }

func readJSONWork(a operands) int { return len(textOf(a[0])) / 2 }

// readYAMLWork is the work of reading YAML.
func readYAMLWork(a operands) int {
	text := textOf(a[0])
	work := eachYAML + perYAML*len(text)
	if strings.Contains(text, mergeKey) {
		work += copiedEntry * maxMerged
	}
	return work
}

func hashWork(a operands) int { return len(textOf(a[0])) / perValue }

func splitWork(a operands) int { return hashWork(a) + strings.Count(textOf(a[0]), textOf(a[1])) }

// equalWork is the work of comparing two values. It is their size and a half, because both are counted before they are
// compared.
func equalWork(a operands) int {
	if !isContainer(a[0]) || !isContainer(a[1]) {
		return 0
	}
	n := countValues(a[1], countValues(a[0], MaxWork+1))
	return n + n/2
}

func inWork(a operands) int {
	if _, isList := a[1].(traits.Lister); !isList {
		return 0
	}
	return sizeOf(a[1]) * countValues(a[0], MaxWork+1)
}

// searchWork is the work of searching a text, or of comparing the elements of a list with a value that is as large as
// one of them.
func searchWork(a operands) int { return hashWork(a) + comparisons(a[0], a[0])/max(1, sizeOf(a[0])) }

// comparisons is the work of comparing all elements of a list with all of another.
func comparisons(a, b ref.Val) int {
	return min(sizeOf(a)*countValues(b, MaxWork+1), sizeOf(b)*countValues(a, MaxWork+1))
}

func isContainer(v ref.Val) bool {
	switch v.(type) {
	case traits.Mapper, traits.Lister:
		return true
	}
	return false
}

// sizeOf returns the number of entries or elements, and 1 for any other value.
func sizeOf(v ref.Val) int {
	if s, ok := v.(traits.Sizer); ok && isContainer(v) {
		n, _ := s.Size().(types.Int)
		return int(n)
	}
	return 1
}

// textOf returns a text, and "" for any other value.
func textOf(v ref.Val) string {
	s, _ := v.(types.String)
	return string(s)
}

// countValues counts the values that v is made of, up to most.
func countValues(v ref.Val, most int) int {
	return weighValues(v, most, func(ref.Val) int { return 1 }, func(ref.Val) int { return 0 })
}

// printWork is the work of writing a value as text, up to most.
func printWork(v ref.Val, most int) int { return weighValues(v, most, textWork, textWork) }

func textWork(v ref.Val) int { return 1 + byteLength(v)/perValue }

// weighValues adds up the weights of the values that v is made of, and of the keys of maps,
// up to most.
func weighValues(v ref.Val, most int, value, key func(ref.Val) int) int {
	if o, ok := v.(*types.Optional); ok && o.HasValue() {
		return weighValues(o.GetValue(), most, value, key)
	}
	n := value(v)
	switch v := v.(type) {
	case traits.Mapper:
		for it := v.Iterator(); it.HasNext() == types.True && n < most; {
			k := it.Next()
			n += key(k) + weighValues(v.Get(k), most-n, value, key)
		}
	case traits.Lister:
		for it := v.Iterator(); it.HasNext() == types.True && n < most; {
			n += weighValues(it.Next(), most-n, value, key)
		}
	}
	return min(n, most)
}
