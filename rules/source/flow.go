package source

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// indexed matches a path like metadata.annotations["example.com/x"].
var indexed = regexp.MustCompile(`[\w.-]+(?:\["[^"]*"\][\w.-]*)+`)

// explainFlow finds the error within { } or [ ] on the given lines. Most often a
// value needs quotes there.
func (t *text) explainFlow(from, to int, problem string) *Error {
	problem = "not valid YAML: " + problem
	for line := from; line <= to; line++ {
		value, column := valueOf(t.line(line))
		if i := indexUnquoted(value, "${"); i >= 0 {
			return NewError(Pos{t.name, line, column + i}, "", problem, "inside { } and [ ] put ${...} in quotes: \"${...}\"")
		}
		if i := indexUnquoted(value, "!"); i >= 0 {
			return NewError(Pos{t.name, line, column + i}, "", problem, flowHint(value, i))
		}
		if i := brokenQuotes(value); i >= 0 {
			return NewError(Pos{t.name, line, column + i}, "", problem,
				"YAML ends the value at this quote: put the value in quotes of the other kind")
		}
	}
	for line := from; line <= to; line++ {
		value, column := valueOf(t.line(line))
		for _, path := range indexed.FindAllString(value, maxBack) {
			if i := indexUnquoted(value, path); i >= 0 {
				return NewError(Pos{t.name, line, column + i}, "", problem, "inside { } and [ ] put this in quotes: "+Quoted(path))
			}
		}
	}
	p := t.firstPosition(from)
	value, column := valueOf(t.line(from))
	i := indexUnclosed(value)
	if i < 0 {
		i = indexUnquoted(value, "{")
	}
	if i >= 0 {
		p.Column = column + i
	}
	return NewError(p, "", problem, "is a comma missing, or the bracket that closes? Inside { } and [ ] an expression "+
		"with ?, [ or a comma needs quotes")
}

// signs are the characters with a special meaning at the start of a YAML value.
var signs = map[byte]string{'*': "an alias", '&': "an anchor", '!': "a tag"}

// flowHint returns how to write a value within { } or [ ] that begins with one of
// the signs. The value begins at the i-th character of a line.
func flowHint(line string, i int) string {
	runes := []rune(line)
	value := string(runes[min(i, len(runes)):])
	if value == "" || signs[value[0]] == "" {
		return "put the value in quotes"
	}
	meaning := "YAML reads " + value[:1] + " as " + signs[value[0]]
	end := strings.IndexAny(value, ",]} ")
	if end < 0 {
		end = len(value)
	}
	if strings.ContainsAny(value[:end], `([{"'`) || strings.HasPrefix(value[end:], " ") {
		return meaning + ": put all of the value in quotes"
	}
	return meaning + ": write " + Quoted(value[:end])
}

// brokenQuotes returns the character of a line where a quoted value ends although
// text follows, or -1.
func brokenQuotes(line string) int {
	for i := 0; i < len(line); i++ {
		before := strings.TrimRight(line[:i], " ")
		if line[i] != '"' && line[i] != '\'' || before != "" && !strings.ContainsAny(before[len(before)-1:], "[{,:") {
			continue // YAML ignores quotes within a value.
		}
		i += endOfQuotes(line[i:])
		if rest := strings.TrimLeft(line[i:], " "); rest != "" && !strings.Contains(",]}:", rest[:1]) {
			return utf8.RuneCountInString(line[:i]) - 1
		}
	}
	return -1
}

// indexUnquoted returns the character of a line where s occurs outside of quotes,
// or -1.
func indexUnquoted(line, s string) int {
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

// indexUnclosed returns the character of the last unclosed bracket of a line, or
// -1.
func indexUnclosed(line string) int {
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
