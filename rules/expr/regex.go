package expr

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode"

	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// A regular expression may follow as many alternatives at once as it has
// instructions, for each character of the text. The product of both is bounded.

// maxPattern bounds a computed pattern before it is compiled.
const maxPattern = maxExpression

// A patternWork measures a call by the number of instructions of its pattern.
type patternWork func(a operands, instructions int) int

// patternLimit is the limit of a function whose second argument is a pattern. Measuring
// compiles the pattern, and so is work itself.
func patternLimit(work patternWork) limit {
	return limit{
		pattern: work,
		measure: func(a operands) int {
			pattern := textOf(a[1])
			if len(pattern) > maxPattern {
				return MaxWork + 1
			}
			return classWork(pattern) + perInstruction*len(pattern) + perRepetition*strings.Count(pattern, "{")
		},
		work: func(a operands) int {
			n := instructions(textOf(a[1]))
			return perInstruction*n + work(a, n)
		},
	}
}

func matchWork(a operands, instructions int) int { return scanWork(textOf(a[0]), instructions) }

// The work of compiling a pattern. A class of Unicode is a long list of ranges, and a flag
// such as (?i) visits each character of a range.
const (
	perInstruction = 4
	perRepetition  = 500
	perClass       = 300
	perFoldedClass = 2_000
	perFoldedRange = 60_000 // that may go beyond ASCII
)

// classWork is the work of the classes of a pattern. It is known before the pattern is
// parsed, because parsing already does it.
func classWork(pattern string) int {
	classes := strings.Count(pattern, `\p`) + strings.Count(pattern, `\P`)
	if !strings.Contains(pattern, "(?") {
		return perClass * classes
	}
	work := perFoldedClass * classes
	if strings.Contains(pattern, `\x`) || !isASCII(pattern) {
		work += perFoldedRange * strings.Count(pattern, "-")
	}
	return work
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(c rune) bool { return c > unicode.MaxASCII }) < 0
}

// The functions of CEL's library of regular expressions.
const (
	regexExtract    = "regex.extract"
	regexExtractAll = "regex.extractAll"
	regexReplace    = "regex.replace"
)

// findAllWork includes the memory of the matches.
func findAllWork(a operands, instructions int) int {
	return matchWork(a, instructions) + 4*len(textOf(a[0]))
}

// regexReplaceWork includes the memory of the matches with their groups, and a second
// search that measures the output.
func regexReplaceWork(a operands, instructions int) int {
	groups := strings.Count(textOf(a[1]), "(")
	return 2*matchWork(a, instructions)*(1+groups/4) + (4+groups)*len(textOf(a[0]))
}

func regexReplaceOutput(a operands) string { return excessOutput(replacedLength(a), "text") }

// replacedLength returns a length that the result of regex.replace() does not exceed. It
// looks for the matches only if the result could be too large.
func replacedLength(a operands) int {
	text := textOf(a[0])
	literal, references := replacementParts(textOf(a[2]))
	most := (len(text) + 1) * (1 + literal + references)
	if most <= maxOutput {
		return most
	}
	pattern, err := regexp.Compile(textOf(a[1]))
	if err != nil {
		return 0 // The call fails.
	}
	count := -1
	if n, ok := a[3].(types.Int); ok && n >= 0 {
		count = int(n)
	}
	length := len(text)
	for _, match := range pattern.FindAllStringIndex(text, count) {
		length += literal + (references-1)*(match[1]-match[0])
	}
	return length
}

// replacementParts returns the length of a replacement without its references to groups,
// and how many it has.
func replacementParts(with string) (literal, references int) {
	with = string([]rune(with)) // regex.replace() replaces each invalid byte by three.
	for i := 0; i < len(with); i++ {
		if with[i] == '\\' && i+1 < len(with) {
			i++
			if with[i] != '\\' {
				references++
				continue
			}
		}
		literal++
	}
	return literal, references
}

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

// An opaque hides from CEL that an expression is a call. CEL replaces calls with a
// constant pattern by unguarded ones.
type opaque struct{ interpreter.InterpretableV2 }

// withPattern returns a call whose pattern is constant.
func (c *guardedCall) withPattern(pattern string) (interpreter.InterpretableV2, error) {
	if classWork(pattern) > MaxWork {
		return nil, fmt.Errorf("%s(): the pattern takes too long to compile: use fewer classes", c.Function())
	}
	compiled, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("%s(): %w", c.Function(), err)
	}
	if err := c.checkGroups(compiled); err != nil {
		return nil, err
	}
	size, work := instructions(pattern), c.limit.pattern
	compiling := classWork(pattern) + perInstruction*size
	c.limit.measure = nil
	c.limit.work = func(a operands) int { return compiling + work(a, size) }
	if match := matchers[c.Function()]; match != nil {
		c.limit.work = func(a operands) int { return work(a, size) }
		c.run = func(a operands) ref.Val {
			if text, ok := a[0].(types.String); ok {
				return match(compiled, string(text))
			}
			return noOverload()
		}
	}
	return &opaque{c}, nil
}

// checkGroups returns what is wrong with the groups of a constant pattern.
func (c *guardedCall) checkGroups(pattern *regexp.Regexp) error {
	switch c.Function() {
	case regexExtract, regexExtractAll:
		if n := pattern.NumSubexp(); n > 1 {
			return fmt.Errorf("%s(): the pattern has %d groups, and may have one: write (?:...) for the others", c.Function(), n)
		}
	case regexReplace:
		if with, ok := c.args[2].(interpreter.InterpretableConst); ok {
			return checkReferences(textOf(with.Value()), pattern.NumSubexp())
		}
	}
	return nil
}

// checkReferences returns what is wrong with the \1 and \\ of a replacement.
func checkReferences(with string, groups int) error {
	for {
		_, after, found := strings.Cut(with, `\`)
		switch {
		case !found:
			return nil
		case after == "" || after[0] != '\\' && (after[0] < '0' || after[0] > '9'):
			return fmt.Errorf(`regex.replace(): in the replacement, a digit or \ must follow \`)
		case after[0] != '\\' && int(after[0]-'0') > groups:
			return fmt.Errorf(`regex.replace(): the replacement refers to group \%c, and the pattern has %d`, after[0], groups)
		}
		with = after[1:]
	}
}
