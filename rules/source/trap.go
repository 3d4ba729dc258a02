package source

import (
	"strings"
	"unicode/utf8"
)

// A trap is a common mistake that YAML's own message does not explain.
type trap struct {
	answer string
	column int // of the mistake, or 0
}

// explainTrap checks the line of a YAML error for expressions that YAML reads differently.
func (t *text) explainTrap(p Pos, problem string) trap {
	line := t.line(p.Line)
	indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
	if strings.Contains(indent, "\t") {
		return trap{"indent with spaces, YAML forbids tabs", utf8.RuneCountInString(indent[:strings.Index(indent, "\t")]) + 1}
	}
	value, column := valueOf(line)
	first, _ := utf8.DecodeRuneInString(value)
	switch {
	case strings.HasPrefix(line, "%"):
		return trap{"remove this line", 1}
	case strings.HasPrefix(value, "{{"):
		return trap{"{{ }} is not supported: write ${...} for a value", column}
	case first == '!':
		return trap{"YAML reads ! as a tag: " + quoteIt(value), column}
	case first == '*':
		return trap{"YAML reads * as an alias: " + quoteIt(value), column}
	case first == '&':
		return trap{"YAML reads & as an anchor: " + quoteIt(value), column}
	case first == '@', first == '`', first == '%':
		return trap{"YAML reserves " + string(first) + " at the start of a value: " + quoteIt(value), column}
	case (first == '|' || first == '>') && problem == "did not find expected comment or line break":
		return trap{"the text begins on the next line, indented", column}
	case problem == "mapping values are not allowed in this context":
		return colonTrap(value, p.Column)
	case (first == '"' || first == '\'') && endOfQuotes(value) < len(value):
		return trap{"YAML ends the value at its closing quote: " + quoteIt(meantInQuotes(value)),
			column + utf8.RuneCountInString(value[:endOfQuotes(value)])}
	case problem == "found unknown escape character" && strings.Contains(value, `\${`):
		return trap{"write $${ for a literal ${", 0}
	case problem == "found unknown escape character":
		return trap{`in double quotes, write \\ for a backslash, or use single quotes`, 0}
	case problem == "block sequence entries are not allowed in this context":
		return trap{"put each item of a list on a line of its own, or write [" + strings.TrimPrefix(value, "- ") + "]",
			column}
	case strings.Contains(value, "${") && strings.Contains(value, ": ") && first != '{' && first != '[':
		return colonTrap(value, column+utf8.RuneCountInString(value[:strings.Index(value, ": ")]))
	case (first == '[' || first == '{') && strings.Trim(value[endOfBrackets(value):],
		"]} ") == "" && endOfBrackets(value) < len(value):
		return trap{"a bracket is closed that was not opened", column + utf8.RuneCountInString(value[:endOfBrackets(value)])}
	case first == '[' && problem == "did not find expected key" && endOfBrackets(value) < len(value):
		return trap{"YAML reads [ as a list: " + quoteIt(value), column}
	case first == '{' && problem == "did not find expected key" && endOfBrackets(value) < len(value):
		return trap{"YAML reads { as a map: " + quoteIt(value), column}
	case problem == "could not find expected ':'":
		return trap{"a key needs a colon and a space after it", 0}
	case problem == "did not find expected key", problem == "did not find expected '-' indicator":
		return trap{"is it indented like the lines around it?", 0}
	}
	return trap{}
}

// colonTrap explains a colon within a value, which YAML reads as the end of a key.
func colonTrap(value string, column int) trap {
	colon := "\": \""
	if !strings.Contains(value, "${") && strings.Contains(value, " ? ") {
		colon = "the \":\" of \"a ? b : c\""
	}
	return trap{"YAML reads " + colon + " as the end of a key: " + quoteIt(value), column}
}

// valueOf returns the text after the key or dash of a line, without a comment, and
// the column of the text.
func valueOf(line string) (string, int) {
	rest := strings.TrimLeft(line, " \t")
	for strings.HasPrefix(rest, "- ") {
		rest = strings.TrimLeft(rest[2:], " ")
	}
	if i := strings.Index(rest, ": "); i >= 0 && !strings.ContainsAny(rest[:i], `"'{[ ?!*&`) {
		rest = strings.TrimLeft(rest[i+2:], " ")
	}
	column := utf8.RuneCountInString(line[:len(line)-len(rest)]) + 1
	if i := strings.Index(rest, " #"); i >= 0 {
		rest = rest[:i]
	}
	return strings.TrimRight(rest, " \t"), column
}

// endOfQuotes returns the end of the quoted text at the start of value.
func endOfQuotes(value string) int {
	for i := 1; i < len(value); i++ {
		switch {
		case value[i] == '\\' && value[0] == '"':
			i++
		case value[i] != value[0]:
		case value[0] == '\'' && i+1 < len(value) && value[i+1] == '\'':
			i++
		default:
			return i + 1
		}
	}
	return len(value)
}

// meantInQuotes returns the text that the author meant to quote although it
// contains the same quotes: text that continues directly after a quote, or text
// with ${...}. Other quotes belong to strings of an expression.
func meantInQuotes(value string) string {
	last := len(value) - 1
	if value[last] != value[0] || last == 0 {
		return value
	}
	next, _ := utf8.DecodeRuneInString(value[endOfQuotes(value):])
	if inner := value[1:last]; strings.Contains(inner, "${") || IsIdent(next) {
		return inner
	}
	return value
}

// endOfBrackets returns the end of the list or map at the start of value.
func endOfBrackets(value string) int {
	depth := 0
	for i := 0; i < len(value); i++ {
		switch value[i] {
		case '"', '\'':
			i += endOfQuotes(value[i:]) - 1
		case '[', '{':
			depth++
		case ']', '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(value)
}

// quoteIt returns the hint to quote a value, with the result if it is short.
func quoteIt(value string) string {
	q := Quoted(value)
	if q == "" || utf8.RuneCountInString(value) > 60 {
		return "quote the whole value"
	}
	return "write " + q
}

// Quoted returns value as a YAML scalar in quotes, or "" if it is not clear where
// the author's value ends.
func Quoted(value string) string {
	if strings.HasPrefix(value, "- ") || strings.Count(value, "}") > strings.Count(value, "{") ||
		strings.Count(value, "]") > strings.Count(value, "[") {
		return ""
	}
	if !strings.Contains(value, "'") {
		return "'" + value + "'"
	}
	if !strings.ContainsAny(value, `"\`) {
		return `"` + value + `"`
	}
	return "'" + strings.ReplaceAll(value, "'", "''") + "'"
}

// openQuote finds an unclosed quote: a text in quotes that ends on a later line, before
// something that cannot follow it, because its end was meant as the beginning of another
// text. It returns the beginning of the text and the line of its end, 0 if it has none.
// stop is where YAML stopped.
func (t *text) openQuote(stop int) (at Pos, end int) {
	for i := 0; i < stop; {
		value, block := t.nextValue(i)
		switch {
		case value < 0 || value >= stop:
			return Pos{}, 0
		case block:
			i = t.afterBlock(value)
			continue
		}
		rest := t.data[value:]
		length := endOfQuotes(rest)
		if length == len(rest) && (length == 1 || rest[length-1] != rest[0]) {
			return t.offset(value), 0
		}
		spans := strings.Contains(rest[:length], "\n")
		line, after, _ := strings.Cut(rest[length:], "\n")
		next, _, _ := strings.Cut(after, "\n")
		if spans && value+length < len(t.data) && !endsValue(line) && stop <= value+length+len(line)+len(next)+lookahead {
			return t.offset(value), t.offset(value + length - 1).Line
		}
		i = value + length
	}
	return Pos{}, 0
}

// endsValue reports whether what follows a text in quotes on its line may follow it.
func endsValue(rest string) bool {
	trimmed := strings.TrimLeft(rest, " \t\r")
	return trimmed == "" || strings.ContainsAny(trimmed[:1], ",]}:") || trimmed[0] == '#' && trimmed != rest
}

// nextValue returns where the next text in quotes begins, or the next block text, from a
// character on, or -1.
func (t *text) nextValue(i int) (at int, block bool) {
	fresh := true // A value may begin here.
	for i < len(t.data) {
		c, size := utf8.DecodeRuneInString(t.data[i:])
		switch {
		case strings.ContainsRune(" \t\r", c):
		case c == '\n':
			fresh = true
		case c == '#' && (i == 0 || strings.ContainsRune(" \t\n", rune(t.data[i-1]))):
			for i < len(t.data) && t.data[i] != '\n' {
				i++
			}
			continue
		case (c == '"' || c == '\'') && fresh:
			return i, false
		case (c == '|' || c == '>') && fresh:
			return i, true
		case strings.ContainsRune("[{,", c), strings.ContainsRune(":-?", c) && t.blankAt(i+1):
			fresh = true
		default:
			fresh = false
		}
		i += size
	}
	return -1, false
}

// blankAt reports whether there is white space or nothing.
func (t *text) blankAt(i int) bool {
	return i >= len(t.data) || strings.ContainsRune(" \t\r\n", rune(t.data[i]))
}

// afterBlock returns the end of the block text with a header: the next line that is not
// indented more than that of the header.
func (t *text) afterBlock(header int) int {
	line := t.offset(header).Line
	parent := indentation(t.line(line))
	for line++; line <= len(t.lines); line++ {
		if s := t.line(line); strings.TrimSpace(s) != "" && indentation(s) <= parent {
			return t.lines[line-1]
		}
	}
	return len(t.data)
}
