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

// weighMatch is the work of looking for a pattern in a text.
func weighMatch(args []ref.Val) int {
	pattern := text(args[1])
	if len(pattern) > maxPattern {
		return maxWork + 1
	}
	return steps(len(text(args[0])), instructions(pattern))
}

// weighMatches is that of finding all matches, each of which takes memory.
func weighMatches(args []ref.Val) int {
	return weighMatch(args) + 4*len(text(args[0]))
}

// steps are counted like values: so many take as long as looking at one.
func steps(length, instructions int) int { return (length + 8) * instructions / 8 }

// instructions returns how large a pattern is when it is compiled. Only
// repeating makes it much larger than it is written.
func instructions(pattern string) int {
	if !strings.Contains(pattern, "{") {
		return 2 + len(pattern)
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 2 // It will be refused, and takes no time.
	}
	compiled, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 2
	}
	return len(compiled.Inst)
}

// matchers are the functions that look for one match, by their names.
var matchers = map[string]func(pattern *regexp.Regexp, text string) ref.Val{
	overloads.Matches: func(pattern *regexp.Regexp, text string) ref.Val { return types.Bool(pattern.MatchString(text)) },
	"find":            func(pattern *regexp.Regexp, text string) ref.Val { return types.String(pattern.FindString(text)) },
}

// A constantMatch is a call of a matcher with a pattern that is known
// beforehand. It is no call to CEL, which would put one in its place that is
// not bounded.
type constantMatch struct {
	interpreter.InterpretableV2
	name         string
	text         interpreter.InterpretableV2
	pattern      *regexp.Regexp
	instructions int
}

// matched bounds a call with a pattern that is known beforehand.
func (e *environment) matched(call interpreter.InterpretableCall, pattern string) (interpreter.InterpretableV2, error) {
	compiled, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("%s(): %w", call.Function(), err)
	}
	if matchers[call.Function()] == nil {
		return &opaque{e.weighed(call, weighMatches)}, nil
	}
	return &constantMatch{call, call.Function(), call.Args()[0], compiled, instructions(pattern)}, nil
}

// An opaque is a call that CEL does not see as one.
type opaque struct{ interpreter.InterpretableV2 }

// isMatch reports whether a call is one of those with a pattern.
func isMatch(call interpreter.InterpretableCall) bool {
	return len(call.Args()) > 1 && (matchers[call.Function()] != nil || call.Function() == "findAll")
}

// Exec looks for the pattern, unless that would take too long.
func (m *constantMatch) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	v := m.text.Exec(frame)
	if types.IsUnknownOrError(v) {
		return v
	}
	s, ok := v.(types.String)
	if !ok {
		return types.NewErrWithNodeID(m.ID(), "no such overload")
	}
	if tooMuch(frame, steps(len(s), m.instructions)) {
		return types.LabelErrNode(m.ID(), muchToDo(m.name+"()"))
	}
	return matchers[m.name](m.pattern, string(s))
}

// Eval is Exec for callers of CEL's older interface.
func (m *constantMatch) Eval(vars interpreter.Activation) ref.Val {
	return m.Exec(interpreter.AsFrame(vars))
}
