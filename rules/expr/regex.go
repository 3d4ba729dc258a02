package expr

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// A regular expression may have to follow as many ways at once as it has
// instructions, for each character of the text. The product of both is bounded.

// maxPattern bounds a pattern that is computed, before it is compiled.
const maxPattern = maxExpression

// matchWork is the work of looking for a pattern in a text.
func matchWork(a operands) int {
	pattern := textOf(a[1])
	if len(pattern) > maxPattern {
		return MaxWork + 1
	}
	return scanWork(textOf(a[0]), instructions(pattern))
}

// findAllWork is that of finding all matches, each of which takes memory.
func findAllWork(a operands) int { return matchWork(a) + 4*len(textOf(a[0])) }

// scanWork counts steps like values: eight take as long as looking at one.
func scanWork(text string, instructions int) int { return (len(text) + 8) * instructions / 8 }

// instructions returns how large a pattern is when it is compiled. Only
// repeating makes it much larger than it is written.
func instructions(pattern string) int {
	if !strings.Contains(pattern, "{") {
		return 2 + len(pattern)
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 2 // It will be rejected, and takes no time.
	}
	compiled, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 2
	}
	return len(compiled.Inst)
}

// matchers are the functions that look for one match.
var matchers = map[string]func(pattern *regexp.Regexp, text string) ref.Val{
	overloads.Matches: func(pattern *regexp.Regexp, text string) ref.Val { return types.Bool(pattern.MatchString(text)) },
	"find":            func(pattern *regexp.Regexp, text string) ref.Val { return types.String(pattern.FindString(text)) },
}

// takesPattern reports whether a call is one of those with a pattern.
func takesPattern(call interpreter.InterpretableCall) bool {
	return len(call.Args()) > 1 && (matchers[call.Function()] != nil || call.Function() == "findAll")
}

// An opaque hides from CEL that an expression is a call: CEL would replace one
// with a constant pattern by an unguarded call.
type opaque struct{ interpreter.InterpretableV2 }

// withPattern returns a call whose pattern is constant.
func (c *guardedCall) withPattern(pattern string) (interpreter.InterpretableV2, error) {
	compiled, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("%s(): %w", c.Function(), err)
	}
	if match := matchers[c.Function()]; match != nil {
		size := instructions(pattern)
		c.limit.work = func(a operands) int { return scanWork(textOf(a[0]), size) }
		c.run = func(a operands) ref.Val {
			if text, ok := a[0].(types.String); ok {
				return match(compiled, string(text))
			}
			return noOverload()
		}
	}
	return &opaque{c}, nil
}
