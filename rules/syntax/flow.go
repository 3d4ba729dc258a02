package syntax

import (
	"regexp"
	"strings"
)

// indexed is a path like metadata.annotations["example.com/x"].
var indexed = regexp.MustCompile(`[\w.-]+(?:\["[^"]*"\][\w.-]*)+`)

// explainFlow finds what went wrong within { } or [ ] on the given lines. Most
// often it is a value that needs quotes there.
func (t *text) explainFlow(from, to int, problem string) *Error {
	problem = "not valid YAML: " + problem
	for line := from; line <= to; line++ {
		value, column := valueOf(t.line(line))
		if i := bare(value, "${"); i >= 0 {
			return NewError(Pos{t.name, line, column + i}, "", problem, "inside { } and [ ] put ${...} in quotes: \"${...}\"")
		}
		if i := bare(value, "!"); i >= 0 {
			return NewError(Pos{t.name, line, column + i}, "", problem, "YAML reads ! as a tag: quote the expression")
		}
	}
	for line := from; line <= to; line++ {
		value, column := valueOf(t.line(line))
		for _, path := range indexed.FindAllString(value, maxBack) {
			if i := bare(value, path); i >= 0 {
				return NewError(Pos{t.name, line, column + i}, "", problem, "inside { } and [ ] put this in quotes: "+quoted(path))
			}
		}
	}
	p := t.first(from)
	value, column := valueOf(t.line(from))
	i := opened(value)
	if i < 0 {
		i = bare(value, "{")
	}
	if i >= 0 {
		p.Column = column + i
	}
	return NewError(p, "", problem, "is a comma missing, or the bracket that closes? Inside { } and [ ] an expression with ?, [ or a comma needs quotes")
}

// bare returns the character of a line at which s stands outside of quotes,
// or -1.
func bare(line, s string) int {
	var quote rune
	n := 0
	for i, r := range line {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case strings.HasPrefix(line[i:], s):
			return n
		case r == '"' || r == '\'':
			quote = r
		}
		n++
	}
	return -1
}

// opened returns the character of a line at which the last bracket stands that
// it opens and does not close, or -1.
func opened(line string) int {
	var open []int
	n := 0
	for _, r := range line {
		switch r {
		case '{', '[':
			open = append(open, n)
		case '}', ']':
			open = open[:max(len(open)-1, 0)]
		}
		n++
	}
	if len(open) == 0 {
		return -1
	}
	return open[len(open)-1]
}
