package syntax

import (
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxExpression is how many bytes an expression may have.
const maxExpression = 4096

// expr reads a field that is bare CEL. It returns nil if there is none.
func (s scope) expr(n *yaml.Node) *Expr {
	if n == nil || broken(n) {
		return nil
	}
	if n.Kind != yaml.ScalarNode || isNull(n) {
		s.notExpr(n)
		return nil
	}
	if n.Tag == "!!int" && !celInt.MatchString(n.Value) {
		s.errorf(s.text.pos(n), "%s is no number in CEL", n.Value).Hint = "write it in decimal"
		return nil
	}
	sc := s.text.scalar(n)
	e := sc.expr(0, len(sc.runes))
	if n.Tag == "!!bool" {
		e.Text = strings.ToLower(e.Text) // YAML knows True and TRUE, CEL does not.
	}
	if s.wrapped(sc, e) || !s.bounded(e) {
		return nil
	}
	if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0 && (s.hash(sc) || s.comma(sc)) {
		return nil
	}
	return e
}

var celInt = regexp.MustCompile(`^[-+]?(0|[1-9][0-9]*|0x[0-9A-Fa-f]+)$`)

// notExpr complains about something else in the place of an expression. Most
// often it is one that YAML read differently.
func (s scope) notExpr(n *yaml.Node) {
	p := s.text.pos(n)
	e := s.errorf(p, "expected an expression, got %s", describe(n))
	switch {
	case isNull(n):
		e.Hint = "write one, or remove the key"
	case n.Kind == yaml.MappingNode && n.Style&yaml.FlowStyle == 0 && len(n.Content) == 2 && n.Content[1].Kind == yaml.ScalarNode:
		value := strings.TrimLeft(s.text.line(p.Line), " ")
		e.Hint = "YAML reads \": \" as the end of a key: " + quoteIt(strings.TrimPrefix(value, "- "))
	default:
		e.Hint = "quote the whole expression"
	}
}

// bounded tells whether e is neither empty nor too long.
func (s scope) bounded(e *Expr) bool {
	switch {
	case e.Text == "":
		s.errorf(e.Pos, "expression is empty")
	case len(e.Text) > maxExpression:
		s.errorf(e.Pos, "expression has %d bytes, the most is %d", len(e.Text), maxExpression).Hint = "split it with let"
	default:
		return true
	}
	return false
}

// wrapped complains about ${ in bare CEL.
func (s scope) wrapped(sc *scalar, e *Expr) bool {
	r := sc.runes
	for i := 0; i < len(r); {
		t, after := next(r, i)
		if t != tokenOther || r[i] != '$' || after == len(r) || r[after] != '{' {
			i = after
			continue
		}
		hint := "drop the ${ }"
		if end, _ := closing(r, i+2); strings.HasPrefix(e.Text, "${") && end >= 0 && strings.TrimSpace(string(r[end+1:])) == "" {
			if inner := sc.expr(i+2, end).Text; len(inner) <= 60 && !strings.Contains(inner, "\n") {
				hint = "write " + inner
			}
		}
		s.errorf(sc.at(i), "is an expression already, without ${...}").Hint = hint
		return true
	}
	return false
}

// hash complains about a string that YAML cut off at " #", where its comments
// begin. CEL would only say that the string is not closed.
func (s scope) hash(sc *scalar) bool {
	r := sc.runes
	for i := 0; i < len(r); {
		t, after := next(r, i)
		if t != tokenOpen {
			i = after
			continue
		}
		p := sc.at(len(r))
		c := s.text.cursor(p)
		c.skipBlanks()
		if c.peek() == '#' {
			s.errorf(Pos{p.File, c.line, c.column}, "YAML begins a comment at \" #\", within a string of the expression").Hint = s.wholeLine(sc)
			return true
		}
		return false
	}
	return false
}

// comma complains about an expression that YAML cut off within { } or [ ], where
// a comma ends a value.
func (s scope) comma(sc *scalar) bool {
	open := 0
	for _, r := range sc.runes {
		switch r {
		case '(':
			open++
		case ')':
			open--
		}
	}
	p := sc.at(len(sc.runes))
	if c := s.text.cursor(p); open <= 0 || c.peek() != ',' {
		return false
	}
	s.errorf(p, "YAML ends the expression at this comma, within { } or [ ]").Hint = "quote the whole expression"
	return true
}

// wholeLine tells the author to quote a value that YAML cut off, with what it
// took for a comment.
func (s scope) wholeLine(sc *scalar) string {
	p := sc.at(0)
	line := []rune(s.text.line(p.Line))
	if len(sc.marks) > 1 || p.Column > len(line) {
		return "quote the whole value"
	}
	return quoteIt(strings.TrimSpace(string(line[p.Column-1:])))
}

// parts splits text at its ${...}. It returns nil if something is wrong.
func (s scope) parts(sc *scalar) []Part {
	r := sc.runes
	var parts []Part
	var plain strings.Builder
	for i := 0; i < len(r); {
		switch {
		case r[i] != '$':
		case i+2 < len(r) && r[i+1] == '$' && r[i+2] == '{':
			plain.WriteString("${")
			i += 3
			continue
		case i+1 < len(r) && r[i+1] == '{':
			end, hidden := closing(r, i+2)
			if end < 0 {
				s.unclosed(sc, i, hidden)
				return nil
			}
			e := sc.expr(i+2, end)
			if !s.bounded(e) {
				return nil
			}
			if plain.Len() > 0 {
				parts = append(parts, Part{Text: plain.String()})
				plain.Reset()
			}
			parts = append(parts, Part{Expr: e})
			i = end + 1
			continue
		}
		plain.WriteRune(r[i])
		i++
	}
	if plain.Len() > 0 || len(parts) == 0 {
		parts = append(parts, Part{Text: plain.String()})
	}
	return parts
}

func (s scope) unclosed(sc *scalar, start, hidden int) {
	const hint = "write } after the expression, or $${ for a literal ${"
	switch {
	case hidden < 0:
		s.errorf(sc.at(start), "${ is never closed").Hint = hint
	case sc.runes[hidden] == '/':
		s.errorf(sc.at(hidden), "${ is never closed: the comment reaches over its }").Hint = "remove the comment"
	default:
		e := s.errorf(sc.at(hidden), "a string inside ${...} is never closed")
		e.Hint = "close its quote"
		if s.cutOff(sc) {
			e.Hint = "YAML begins a comment at \" #\": " + s.wholeLine(sc)
		}
	}
}

// cutOff tells whether a comment follows the scalar.
func (s scope) cutOff(sc *scalar) bool {
	c := s.text.cursor(sc.at(len(sc.runes)))
	c.skipBlanks()
	return c.peek() == '#'
}
