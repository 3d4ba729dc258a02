package expr

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/cel-go/common/types"
)

// TestReplacedLength requires that the measured length is exact where it matters.
func TestReplacedLength(t *testing.T) {
	large := strings.Repeat("ab", 60_000)
	for _, c := range []struct {
		pattern, with string
		count         int64
		want          int
	}{
		{"a", "xy", -1, 180_000},
		{"a", "xy", 10, 120_010},
		{"a", "xy", 0, 120_000},
		{"(a)(b)", `\2\1`, -1, 240_000}, // A reference counts as the whole match.
		{"nothing", "xyz", -1, 120_000},
		{"b", `\\\\`, -1, 180_000},
		{"(", "xyz", -1, 0},
	} {
		if got := replacedLength(operands{types.String(large), types.String(c.pattern), types.String(c.with), types.Int(c.count)}); got != c.want {
			t.Errorf("%s → %s: %d, want %d", c.pattern, c.with, got, c.want)
		}
	}
}

// FuzzRegex compares the limits of the functions of regular expressions with what the
// functions do: the result is not larger than measured, and what is rejected when rules
// are loaded is what would fail.
func FuzzRegex(f *testing.F) {
	f.Add("foo bar", "(fo)o (ba)r", `\2 \1`, 1)
	f.Add("banana", "a", "x", -1)
	f.Add("banana", "", "-", 2)
	f.Add("héé", "é|(h)", `\0\\\1`, 9)
	f.Add("x", "(", `\`, 0)
	b, err := base()
	if err != nil {
		f.Fatal(err)
	}
	replace := b.overloads["regex_replace_string_string_string_int"]
	extract := b.overloads["regex_extract_string_string"]
	f.Fuzz(func(t *testing.T, text, pattern, with string, count int) {
		text = strings.Repeat(text, 1+100/(1+len(text))) // so that limits matter
		a := operands{types.String(text), types.String(pattern), types.String(with), types.Int(count)}
		if len(text) > 10_000 || regexReplaceWork(a, instructions(pattern)) > MaxWork {
			return
		}
		compiled, err := regexp.Compile(pattern)
		got := replace.Function(a[0], a[1], a[2], a[3])
		if err != nil {
			if !types.IsError(got) && count != 0 {
				t.Fatalf("%q is accepted: %v", pattern, got)
			}
			return
		}
		matches := count != 0 && compiled.MatchString(text)
		if err := checkReferences(with, compiled.NumSubexp()); matches && (err != nil) != types.IsError(got) {
			t.Errorf("%q, %q: %v, but the call gives %v", pattern, with, err, got)
		}
		if s, ok := got.(types.String); ok && len(s) > replacedLength(a) {
			t.Errorf("%q, %q, %q: %d bytes, measured %d", text, pattern, with, len(s), replacedLength(a))
		}
		first := extract.Binary(a[0], a[1])
		if types.IsError(first) != (compiled.NumSubexp() > 1) {
			t.Errorf("%q has %d groups: %v", pattern, compiled.NumSubexp(), first)
		}
	})
}
