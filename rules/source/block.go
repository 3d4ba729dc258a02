package source

import (
	"math"
	"strings"
)

// header steps over the line of | or > and returns how far the block is
// indented. An explicit indicator counts from the parent, which a node does not
// know. So the first line of the value is compared with the file.
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

// folded decodes a > scalar. A line end becomes a space, but stays between
// lines that are indented further, and before empty lines it goes.
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

// ends steps over empty lines and the indentation after them, and returns
// where the empty lines end.
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
