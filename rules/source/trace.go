package source

import (
	"math"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// A trace decodes a scalar a second time to find the position of each of its
// characters. The YAML package reports only the position of the scalar.
type trace struct {
	cursor
	want  int // characters of the value
	text  strings.Builder
	n     int
	marks []mark
}

// scalar returns the value of a scalar node with the positions of its characters.
func (t *text) scalar(n *yaml.Node) *scalar {
	p := t.pos(n)
	s := &scalar{file: t.name, runes: []rune(n.Value), beside: t.beside}
	tr := trace{cursor: t.cursor(p), want: utf8.RuneCountInString(n.Value)}
	tr.skipAnchor()
	tr.decode(n)
	s.marks = tr.marks
	if tr.text.String() != n.Value || len(tr.marks) == 0 {
		// Fuzzing does not reach this. A caret at the start of the value is better
		// than a caret at a wrong position.
		s.marks = []mark{{0, p.Line, p.Column}}
	}
	return s
}

func (t *trace) decode(n *yaml.Node) {
	switch {
	case n.Style&yaml.LiteralStyle != 0:
		t.literal(n.Value)
	case n.Style&yaml.FoldedStyle != 0:
		t.folded(n.Value)
	default:
		t.flow(n.Style)
	}
}

// emit records r, the next character of the value, and its position.
func (t *trace) emit(r rune, c cursor) {
	if t.n >= t.want {
		return
	}
	k := len(t.marks) - 1
	if k < 0 || t.marks[k].line != c.line || t.marks[k].column+t.n-t.marks[k].index != c.column {
		t.marks = append(t.marks, mark{t.n, c.line, c.column})
	}
	t.text.WriteRune(r)
	t.n++
}

// flow decodes plain, single-quoted and double-quoted scalars.
func (t *trace) flow(style yaml.Style) {
	single := style&yaml.SingleQuotedStyle != 0
	double := style&yaml.DoubleQuotedStyle != 0
	if single || double {
		t.next()
	}
	for t.n < t.want {
		at := t.cursor
		switch r := t.peek(); {
		case r == 0:
			return
		case r == ' ', r == '\t', r == '\n':
			t.fold()
		case single && r == '\'':
			t.next()
			t.emit(t.next(), at)
		case double && r == '\\':
			t.escape()
		default:
			t.emit(t.next(), at)
		}
	}
}

// fold decodes white space. It keeps white space within a line, and folds line
// ends.
func (t *trace) fold() {
	start := t.cursor
	t.skipBlanks()
	if t.peek() != '\n' {
		end := t.cursor
		for t.cursor = start; t.column < end.column; {
			at := t.cursor
			t.emit(t.next(), at)
		}
		return
	}
	t.next()
	if t.emptyLines() == 0 {
		t.emit(' ', start)
	}
}

// emptyLines decodes further line ends, and skips the blanks around them.
func (t *trace) emptyLines() int {
	n := 0
	for t.skipBlanks(); t.peek() == '\n'; t.skipBlanks() {
		at := t.cursor
		t.emit(t.next(), at)
		n++
	}
	return n
}

var escapes = map[rune]rune{
	'0': 0, 'a': '\a', 'b': '\b', 't': '\t', '\t': '\t', 'n': '\n', 'v': '\v', 'f': '\f', 'r': '\r', 'e': 0x1B,
	'N': 0x85, '_': 0xA0, 'L': 0x2028, 'P': 0x2029,
}

var codeLengths = map[rune]int{'x': 2, 'u': 4, 'U': 8}

// escape decodes a backslash within double quotes.
func (t *trace) escape() {
	at := t.cursor
	t.next()
	r := t.next()
	if r == '\n' {
		t.emptyLines()
		return
	}
	if n := codeLengths[r]; n > 0 {
		code := rune(0)
		for range n {
			code = code<<4 + hexDigit(t.next())
		}
		t.emit(code, at)
		return
	}
	if e, ok := escapes[r]; ok {
		r = e
	}
	t.emit(r, at)
}

func hexDigit(r rune) rune {
	switch {
	case r >= 'a':
		return r - 'a' + 10
	case r >= 'A':
		return r - 'A' + 10
	}
	return r - '0'
}

// header skips the line of | or > and returns the indentation of the block. An
// explicit indicator counts from the parent, which a node does not have. So header
// compares the first line of the value with the file.
func (t *trace) header(value string) int {
	t.skipLine()
	c := t.cursor
	content := strings.TrimLeft(value, "\n")
	if content == "" {
		return math.MaxInt // Only empty lines: all blanks are indentation.
	}
	for range len(value) - len(content) {
		c.skipLine()
	}
	for c.peek() == ' ' {
		c.next()
	}
	return c.column - 1 - (len(content) - len(strings.TrimLeft(content, " ")))
}

// literal decodes a | scalar.
func (t *trace) literal(value string) {
	indent := t.header(value)
	t.skipIndent(indent)
	for t.n < t.want && t.peek() != 0 {
		at := t.cursor
		r := t.next()
		t.emit(r, at)
		if r == '\n' {
			t.skipIndent(indent)
		}
	}
}

// folded decodes a > scalar. A line end becomes a space. It is kept next to lines
// with further indentation, and removed before empty lines.
func (t *trace) folded(value string) {
	indent := t.header(value)
	for _, c := range t.ends(indent) {
		t.emit('\n', c)
	}
	for t.n < t.want && t.peek() != 0 {
		before := t.isBlank()
		for t.peek() != '\n' && t.peek() != 0 {
			at := t.cursor
			t.emit(t.next(), at)
		}
		end := t.cursor
		t.next()
		empty := t.ends(indent)
		last := t.column <= indent || t.peek() == 0
		switch {
		case last, before, t.isBlank():
			t.emit('\n', end)
		case len(empty) == 0:
			t.emit(' ', end)
		}
		for _, c := range empty {
			t.emit('\n', c)
		}
		if last {
			return
		}
	}
}

// ends skips empty lines and the indentation after them. It returns the ends of the
// empty lines.
func (t *trace) ends(indent int) []cursor {
	var ends []cursor
	for t.skipIndent(indent); t.peek() == '\n'; t.skipIndent(indent) {
		ends = append(ends, t.cursor)
		t.next()
	}
	return ends
}

func (t *trace) isBlank() bool {
	return t.peek() == ' ' || t.peek() == '\t'
}
