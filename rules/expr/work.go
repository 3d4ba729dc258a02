package expr

import (
	"fmt"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

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

// equalWork is the work of comparing two values.
func equalWork(a operands) int {
	if !isContainer(a[0]) || !isContainer(a[1]) {
		return 0
	}
	return countValues(a[1], countValues(a[0], MaxWork+1))
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
