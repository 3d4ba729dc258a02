package source

import (
	"math"
	"strings"
)

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
