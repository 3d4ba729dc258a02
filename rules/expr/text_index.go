package expr

import (
	"strings"
	"unicode/utf8"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

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
