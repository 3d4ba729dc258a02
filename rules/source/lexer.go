package source

import (
	"strings"
	"unicode/utf8"
)

// A token is a kind of CEL token. The lexer recognizes just enough of CEL to know
// which braces and ${ are code.
type token int

const (
	tokenOther      token = iota // one character of code or space
	tokenIdentifier              // a name, a keyword or a number
	tokenString                  // a string or bytes literal, or a name in backticks
	tokenComment                 // from // to the end of the line
	tokenOpen                    // a string literal that is never closed
)

// nextToken returns the token at i and its end.
func nextToken(s []rune, i int) (token, int) {
	switch r := s[i]; {
	case r == '"' || r == '\'':
		return quotedText(s, i, '\\')
	case r == '`':
		for j := i + 1; j < len(s) && s[j] != '\n'; j++ {
			if s[j] == '`' {
				return tokenString, j + 1
			}
		}
	case r == '/' && i+1 < len(s) && s[i+1] == '/':
		for i < len(s) && s[i] != '\n' {
			i++
		}
		return tokenComment, i
	case IsIdent(r):
		j := i
		for j < len(s) && IsIdent(s[j]) {
			j++
		}
		if j == len(s) || s[j] != '"' && s[j] != '\'' {
			return tokenIdentifier, j
		}
		switch string(s[i:j]) {
		case "b", "B":
			return quotedText(s, j, '\\')
		case "r", "R", "br", "bR", "Br", "BR":
			return quotedText(s, j, 0) // raw: nothing escapes
		}
		return tokenIdentifier, j
	}
	return tokenOther, i + 1
}

// quotedText returns the end of the string literal whose quotes begin at i.
func quotedText(s []rune, i int, escape rune) (token, int) {
	quote, n := s[i], 1
	if i+2 < len(s) && s[i+1] == quote && s[i+2] == quote {
		n = 3
	}
	for i += n; i < len(s); i++ {
		switch {
		case escape != 0 && s[i] == escape:
			i++
		case n == 1 && s[i] == '\n':
			return tokenOpen, len(s)
		case s[i] != quote:
		case n == 1:
			return tokenString, i + 1
		case i+2 < len(s) && s[i+1] == quote && s[i+2] == quote:
			return tokenString, i + 3
		}
	}
	return tokenOpen, len(s)
}

// closingBrace returns the index of the } that ends the expression at i. Without one, it
// returns -1 and the index of a comment or unclosed string that may hide the }, or
// -1.
func closingBrace(s []rune, i int) (end, hidden int) {
	depth := 0
	hidden = -1
	for i < len(s) {
		t, after := nextToken(s, i)
		switch {
		case t == tokenOpen:
			return -1, i
		case t == tokenComment:
			hidden = i
		case t == tokenOther && s[i] == '{':
			depth++
		case t == tokenOther && s[i] == '}':
			if depth == 0 {
				return i, -1
			}
			depth--
		}
		i = after
	}
	return -1, hidden
}

// IsIdent reports whether a CEL identifier can contain a character.
func IsIdent(r rune) bool {
	return r == '_' || r >= '0' && r <= '9' || IsLetter(r)
}

// IsLetter reports whether a character is one of a-z and A-Z.
func IsLetter(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// A Token is a part of an expression, for completion in editors. Space and comments
// are no tokens.
type Token struct {
	Text       string
	Start, End int  // characters from the start of the text
	Name       bool // an identifier, a keyword or a number
	Quoted     bool // a string, also one that is never closed
}

// Tokens returns the tokens of an expression, which may be incomplete.
func Tokens(text []rune) (all []Token) {
	for i := 0; i < len(text); {
		kind, end := nextToken(text, i)
		end = min(end, len(text))
		if kind != tokenComment && !isBlank(text[i]) {
			all = append(all, Token{
				Text: string(text[i:end]), Start: i, End: end,
				Name: kind == tokenIdentifier, Quoted: kind == tokenString || kind == tokenOpen,
			})
		}
		i = end
	}
	return all
}

func isBlank(r rune) bool { return r == ' ' || r == '\t' || r == '\n' || r == '\r' }

// ExpressionAt returns where the expression of ${...} that holds a character of a text
// starts and ends, and whether there is one. It need not be closed.
func ExpressionAt(text []rune, at int) (start, end int, found bool) {
	for i := 0; i+1 < len(text) && i+2 <= at; {
		switch {
		case text[i] == '$' && text[i+1] == '$' && i+2 < len(text) && text[i+2] == '{':
			i += 3 // $${ is literal.
			continue
		case text[i] != '$' || text[i+1] != '{':
			i++
			continue
		}
		start = i + 2
		end, _ = closingBrace(text, start)
		if end < 0 {
			return start, len(text), true
		}
		if at <= end {
			return start, end, true
		}
		i = end + 1
	}
	return 0, 0, false
}

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
