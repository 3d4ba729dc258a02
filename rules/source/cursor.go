package source

import (
	"strings"
	"unicode/utf8"
)

// A cursor iterates over the characters of a file and knows its position.
type cursor struct {
	rest         string
	line, column int
}

// cursor returns a cursor at p.
func (t *text) cursor(p Pos) cursor {
	c := cursor{rest: t.data[t.lines[p.Line-1]:], line: p.Line, column: 1}
	if r := t.ruler(p.Line); r != nil {
		n := min((p.Column-1)/stride, len(r.marks)-1)
		c.rest, c.column = c.rest[r.marks[n]:], n*stride+1
	}
	for c.column < p.Column && c.peek() != 0 {
		c.next()
	}
	return c
}

// peek returns the next character: '\n' for both kinds of line ends, 0 at the end.
func (c *cursor) peek() rune {
	if c.rest == "" {
		return 0
	}
	if strings.HasPrefix(c.rest, "\r\n") {
		return '\n'
	}
	r, _ := utf8.DecodeRuneInString(c.rest)
	return r
}

// next returns the next character and advances.
func (c *cursor) next() rune {
	r := c.peek()
	if r == 0 {
		return 0
	}
	if r == '\n' {
		c.rest = c.rest[strings.IndexByte(c.rest, '\n')+1:]
		c.line++
		c.column = 1
		return r
	}
	c.rest = c.rest[utf8.RuneLen(r):]
	c.column++
	return r
}

func (c *cursor) skipBlanks() {
	for c.peek() == ' ' || c.peek() == '\t' {
		c.next()
	}
}

func (c *cursor) skipLine() {
	for c.peek() != '\n' && c.peek() != 0 {
		c.next()
	}
	c.next()
}

// skipIndent skips at most n spaces from the start of a line.
func (c *cursor) skipIndent(n int) {
	for c.column <= n && c.peek() == ' ' {
		c.next()
	}
}

// skipAnchor moves from the position that YAML reports for a scalar to its first
// character or its tag. If the scalar has an anchor, YAML reports that of the
// anchor.
func (c *cursor) skipAnchor() {
	for {
		switch r := c.peek(); r {
		case ' ', '\t', '\n':
			c.next()
		case '#':
			c.skipLine()
		case '&':
			for c.next(); c.peek() == '-' || IsIdent(c.peek()); {
				c.next()
			}
		default:
			return
		}
	}
}
