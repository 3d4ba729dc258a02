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

// A regular expression may follow as many alternatives at once as it has
// instructions, for each character of the text. The product of both is bounded.

// maxPattern bounds a computed pattern before it is compiled.
const maxPattern = maxExpression

// matchWork is the work of searching a text for a pattern.
func matchWork(a operands) int {
	pattern := textOf(a[1])
	if len(pattern) > maxPattern {
		return MaxWork + 1
	}
	return scanWork(textOf(a[0]), instructions(pattern))
}

// findAllWork includes the memory of the matches.
func findAllWork(a operands) int { return matchWork(a) + 4*len(textOf(a[0])) }

// scanWork counts eight steps like looking at one value.
func scanWork(text string, instructions int) int { return (len(text) + 8) * instructions / 8 }

// instructions returns the size of a compiled pattern. Only repetitions make it much
// larger than its text.
func instructions(pattern string) int {
	if !strings.Contains(pattern, "{") {
		return 2 + len(pattern)
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 2 // Compiling it fails at once.
	}
	compiled, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 2
	}
	return len(compiled.Inst)
}

// matchers are the functions that search for one match.
var matchers = map[string]func(pattern *regexp.Regexp, text string) ref.Val{
	overloads.Matches: func(pattern *regexp.Regexp, text string) ref.Val { return types.Bool(pattern.MatchString(text)) },
	"find":            func(pattern *regexp.Regexp, text string) ref.Val { return types.String(pattern.FindString(text)) },
}

func takesPattern(call interpreter.InterpretableCall) bool {
	return len(call.Args()) > 1 && (matchers[call.Function()] != nil || call.Function() == "findAll")
}

// An opaque hides from CEL that an expression is a call. CEL replaces calls with a
// constant pattern by unguarded ones.
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
