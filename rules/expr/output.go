package expr

import (
	"fmt"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// These functions measure how large a result can be, by the arguments alone.

// excessOutput describes a length beyond maxOutput.
func excessOutput(length int, of string) string {
	if length <= maxOutput {
		return ""
	}
	return fmt.Sprintf("more than %d KiB of %s", maxOutput>>10, of)
}

// sumOutput is for '+', which can double a let or a cel.bind.
func sumOutput(a operands) string {
	switch l := a[0].(type) {
	case types.String:
		if r, ok := a[1].(types.String); ok {
			return excessOutput(len(l)+len(r), "text")
		}
	case types.Bytes:
		if r, ok := a[1].(types.Bytes); ok {
			return excessOutput(len(l)+len(r), "bytes")
		}
	case traits.Lister:
		if r, ok := a[1].(traits.Lister); ok && sizeOf(l)+sizeOf(r) > maxElements {
			return fmt.Sprintf("a list of more than %d elements", maxElements)
		}
	}
	return ""
}

func replaceOutput(a operands) string {
	s, from, to := textOf(a[0]), textOf(a[1]), textOf(a[2])
	return excessOutput(len(s)+strings.Count(s, from)*max(0, len(to)-len(from)), "text")
}

func joinOutput(a operands) string {
	list, ok := a[0].(traits.Lister)
	if !ok {
		return ""
	}
	separator := len(textOf(a[1]))
	total := 0
	for it := list.Iterator(); it.HasNext() == types.True && total <= maxOutput; {
		total += len(textOf(it.Next())) + separator
	}
	return excessOutput(total, "text")
}

// formatOutput adds up the length of the arguments. A verb makes at most four
// characters of one.
func formatOutput(a operands) string {
	return excessOutput(len(textOf(a[0]))+formattedLength(a[1], maxOutput), "text")
}

func formattedLength(v ref.Val, left int) int {
	total := 0
	switch v := v.(type) {
	case types.String:
		return 4 * len(v)
	case types.Bytes:
		return 4 * len(v)
	case traits.Mapper:
		for it := v.Iterator(); it.HasNext() == types.True && total <= left; {
			key := it.Next()
			total += 4 + formattedLength(key, left-total) + formattedLength(v.Get(key), left-total)
		}
	case traits.Lister:
		for it := v.Iterator(); it.HasNext() == types.True && total <= left; {
			total += 2 + formattedLength(it.Next(), left-total)
		}
	case types.Double:
		return 512 // hundreds of digits, and the largest precision, which is 100
	default:
		return 64
	}
	return total
}
