package source

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// lookahead is the number of characters that the YAML scanner reads ahead.
const lookahead = 4

// maxBack is the number of lines that explain goes back to find the start of an
// invalid construct, and maxReread the number of bytes that it reads again for that.
const (
	maxBack   = 20
	maxReread = 2 << 20
)

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)

// explain converts an error of the YAML package. The package reports neither types
// nor columns, and its parser (not its scanner) reports the line of the enclosing
// map. So explain finds the position itself.
func (t *text) explain(err error) *Error {
	problem := err.Error()
	line := 1
	if m := yamlLine.FindStringSubmatch(problem); m != nil {
		problem = m[2]
		line, _ = strconv.Atoi("0" + m[1])
		line = max(line, 1)
	}
	stop := t.stopOffset()
	switch at, end := t.openQuote(stop); {
	case at.Line == 0:
	case end == 0:
		return NewError(at, "", "not valid YAML: "+problem, "a quote is opened here and never closed")
	default:
		return NewError(at, "", fmt.Sprintf("not valid YAML: the text in quotes that begins here ends in line %d", end),
			"close the quote on this line")
	}
	var p Pos
	switch problem {
	case "mapping values are not allowed in this context":
		p = t.positionNear(stop, ":")
	case "found character that cannot start any token":
		p = t.positionNear(stop, "@`%\t")
	case "found unknown escape character":
		p = t.positionNear(stop, "\\")
	case "did not find expected key", "did not find expected '-' indicator", "did not find expected node content",
		"did not find expected <document start>":
		p = t.firstPosition(t.constructStart(t.offset(stop).Line))
	case "did not find expected ',' or ']'", "did not find expected ',' or '}'",
		"did not find expected whitespace or line break":
		last := t.offset(stop).Line
		return t.explainFlow(t.constructStart(last), last, problem)
	case "did not find expected alphabetic or numeric character":
		p = t.positionNear(stop, "*&!")
		if value, column := valueOf(t.line(p.Line)); value != "" && strings.Contains("{[", value[:1]) && p.Column > column {
			return NewError(p, "", "not valid YAML: "+problem, flowHint(value, p.Column-column))
		}
	case "found a tab character that violates indentation", "found a tab character where an indentation space is expected":
		p = t.tabPosition(t.offset(stop).Line)
	default:
		p = t.firstPosition(min(line, len(t.lines)))
	}
	if name, found := strings.CutPrefix(problem, "unknown anchor '"); found {
		name, _, _ = strings.Cut(name, "'")
		at := max(strings.LastIndex(t.data[:stop], "*"+name), 0)
		return NewError(t.offset(at), "", "not valid YAML: "+problem,
			"no &"+name+" stands before it; if it is text, quote it")
	}
	if s := t.slip(p, problem); s.line > 0 {
		return NewError(t.firstPosition(s.line), "", "not valid YAML: "+s.says, s.answer)
	}
	trap := t.explainTrap(p, problem)
	if trap.column > 0 {
		p.Column = trap.column
	}
	return NewError(p, "", "not valid YAML: "+problem, trap.answer)
}

// positionNear returns the position of the first matching character among those that the
// scanner had read ahead when it stopped.
func (t *text) positionNear(stop int, chars string) Pos {
	from := stop
	for range lookahead {
		_, n := utf8.DecodeLastRuneInString(t.data[:from])
		from -= n
	}
	i := strings.IndexAny(t.data[from:stop], chars)
	if i < 0 {
		from = 0
		i = strings.LastIndexAny(t.data[:stop], chars)
	}
	if i < 0 {
		return t.offset(max(stop-1, 0))
	}
	return t.offset(from + i)
}

// tabPosition returns the last line up to the given one that is indented by a tab.
func (t *text) tabPosition(line int) Pos {
	for l := line; l > 0; l-- {
		if s := t.line(l); strings.Contains(s[:len(s)-len(strings.TrimLeft(s, " \t"))], "\t") {
			return t.firstPosition(l)
		}
	}
	return t.firstPosition(line)
}

// constructStart returns the line where an invalid construct starts: the first line whose
// removal, with all later lines, makes the file valid.
func (t *text) constructStart(line int) int {
	for back, read := 0, 0; back < maxBack && line > 1; back++ {
		if read += t.lines[line-1]; read > maxReread {
			break
		}
		if _, err := decodeAll(strings.NewReader(t.data[:t.lines[line-1]])); err == nil {
			break
		}
		line--
	}
	return line
}

// firstPosition returns the position of the first character of a line after the
// indentation.
func (t *text) firstPosition(line int) Pos {
	s := t.line(line)
	return Pos{t.name, line, len(s) - len(strings.TrimLeft(s, " \t")) + 1}
}

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

// A slip is a mistake in how lines are indented, or in a line before the one where YAML
// notices it.
type slip struct {
	line   int
	says   string
	answer string
}

var (
	keyed     = regexp.MustCompile(`^[ ]*(?:- )*[\w./-]+:(?:$|\s)`) // a line with a key
	noBlank   = regexp.MustCompile(`^[ ]*-[A-Za-z]`)                // a dash that is no item
	tightKey  = regexp.MustCompile(`^[ ]*([\w.-]+):([^\s:/].*)$`)   // a colon without a blank
	plainText = regexp.MustCompile(`^[ ]*[\w.-]+(\s|=|$)[^:]*$`)    // no colon at all
)

// slip finds a slip around the position of an error, or returns one without a line.
func (t *text) slip(p Pos, problem string) slip {
	before := t.written(p.Line, -1)
	if before == 0 || !keyed.MatchString(t.line(p.Line)) {
		return slip{}
	}
	line, last := t.line(p.Line), t.line(before)
	switch problem {
	case "mapping values are not allowed in this context":
		if end := strings.Index(line, ":"); p.Column != utf8.RuneCountInString(line[:end])+1 {
			return slip{} // The colon is in the value.
		}
		switch m := tightKey.FindStringSubmatch(last); {
		case noBlank.MatchString(last):
			return slip{before, "the dash of an item needs a blank after it",
				"write " + strings.Replace(strings.TrimSpace(last), "-", "- ", 1)}
		case m != nil:
			return slip{before, "a key needs a blank after its colon", "write " + m[1] + ": " + m[2]}
		case plainText.MatchString(last):
			return slip{before, "a key needs a colon and a blank", ""}
		case keyed.MatchString(last) && column(line) > column(last):
			return t.deeper(p.Line, before)
		}
	case "did not find expected key", "did not find expected '-' indicator":
		if column(last) > column(line) && odd(line) && !odd(last) {
			return slip{p.Line, "is indented less than the line before", ""}
		}
		if opener := t.written(before, -1); opener > 0 && column(last) > column(line) &&
			column(line) > indentation(t.line(opener)) {
			return slip{before, "is indented more than the next line, which belongs to the same map or list", ""}
		}
		for l := before; l > 0; l = t.written(l, -1) {
			if indentation(t.line(l)) < indentation(line) {
				if odd(t.line(l)) && !odd(line) {
					return slip{l, "is indented differently than the lines around it", ""}
				}
				break
			}
		}
	}
	return slip{}
}

// deeper explains a line that is indented more than the one before, which has a value.
// The one of the two is wrong that is a blank off, or unlike the lines around both.
func (t *text) deeper(line, before int) slip {
	tooLittle := slip{before, "is indented less than the next line, although it already has a value", ""}
	if odd(t.line(before)) && !odd(t.line(line)) {
		return tooLittle
	}
	around := []int{t.written(before, -1), t.written(line, 1)}
	for _, l := range around {
		if l > 0 && column(t.line(l)) == column(t.line(before)) {
			return slip{line, "is indented more than the line before, which already has a value", ""}
		}
	}
	for _, l := range around {
		if l > 0 && column(t.line(l)) == column(t.line(line)) {
			return tooLittle
		}
	}
	return slip{line, "is indented more than the line before, which already has a value", ""}
}

// written returns the next line in a direction that is neither blank nor a comment, or 0.
func (t *text) written(line, step int) int {
	for l := line + step; l > 0 && l <= len(t.lines); l += step {
		if s := strings.TrimSpace(t.line(l)); s != "" && s[0] != '#' {
			return l
		}
	}
	return 0
}

// odd reports whether a line is indented by an odd number of blanks, which is mostly a slip.
func odd(line string) bool { return indentation(line)%2 == 1 }

// indentation returns the number of blanks before a line.
func indentation(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// column returns the number of characters before the key of a line: those of a dash
// count.
func column(line string) int { return len(line) - len(strings.TrimLeft(line, "- ")) }
