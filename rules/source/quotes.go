package source

import (
	"strings"
	"unicode/utf8"
)

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
