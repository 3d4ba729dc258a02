package source

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	maxExpression  = 4096   // maximum number of bytes in an expression
	maxExpressions = 10_000 // maximum number of expressions in all files together
)

// Expr reads bare CEL. It returns nil without an expression.
func (v Value) Expr() *Expr {
	n := v.node
	if v.Missing() || v.Broken() {
		return nil
	}
	if !v.IsScalar() || v.IsNull() {
		notExpr(v)
		return nil
	}
	if n.Tag == "!!int" && !celInt.MatchString(n.Value) {
		v.Errorf("%s is not a number in CEL", n.Value).Hint = "write it in decimal"
		return nil
	}
	c := celText{v, v.text.scalar(n)}
	e := c.expr(0, len(c.runes))
	if n.Tag == "!!bool" {
		e.Text = strings.ToLower(e.Text) // YAML accepts True and TRUE, CEL does not.
	}
	if c.checkWrapped(e) || !c.checkLimits(e) {
		return nil
	}
	if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0 &&
		(c.checkComment() || c.checkComma()) {
		return nil
	}
	return e
}

// notExpr records an error for a value that is not an expression. Most often YAML
// has read an expression differently.
func notExpr(v Value) {
	n := v.node
	e := v.Errorf("expected an expression, got %s", v.Describe())
	switch {
	case v.IsNull():
		e.Hint = "write one, or remove the key"
	case n.Kind == yaml.MappingNode && n.Style&yaml.FlowStyle == 0 && len(n.Content) == 2 &&
		n.Content[1].Kind == yaml.ScalarNode:
		value := strings.TrimLeft(v.text.line(v.Pos().Line), " ")
		e.Hint = "YAML reads \": \" as the end of a key: " + quoteIt(strings.TrimPrefix(value, "- "))
	case n.Kind == yaml.SequenceNode && n.Style&yaml.FlowStyle == 0:
		e.Hint = "write one expression, with several conditions joined by &&"
	default:
		e.Hint = "quote the whole expression"
	}
}

// A celText is a scalar that is CEL, or text with CEL in it.
type celText struct {
	value Value
	*scalar
}

// checkLimits reports whether an expression is neither empty nor too long.
func (c celText) checkLimits(e *Expr) bool {
	switch {
	case e.Text == "":
		c.value.ErrorAt(e.Pos, "expression is empty")
	case len(e.Text) > maxExpression:
		c.value.ErrorAt(e.Pos, "expression has %d bytes, at most %d are allowed", len(e.Text),
			maxExpression).Hint = "split it with let"
	default:
		r := c.value.Reader
		r.expressions = append(r.expressions, e)
		if len(r.expressions) == maxExpressions+1 {
			c.value.ErrorAt(e.Pos, "more than %d expressions in all files together", maxExpressions)
		}
		return len(r.expressions) <= maxExpressions
	}
	return false
}

// checkWrapped records an error for ${ in bare CEL.
func (c celText) checkWrapped(e *Expr) bool {
	r := c.runes
	for i := 0; i < len(r); {
		t, after := nextToken(r, i)
		if t != tokenOther || r[i] != '$' || after == len(r) || r[after] != '{' {
			i = after
			continue
		}
		hint := "remove the ${ }"
		if end, _ := closingBrace(r, i+2); strings.HasPrefix(e.Text, "${") && end >= 0 &&
			strings.TrimSpace(string(r[end+1:])) == "" {
			if inner := c.expr(i+2, end).Text; len(inner) <= 60 && !strings.Contains(inner, "\n") {
				hint = "write " + inner
			}
		}
		c.value.ErrorAt(c.at(i), "is already an expression, without ${...}").Hint = hint
		return true
	}
	return false
}

// checkComment records an error for a string that YAML ends at " #", where a comment
// begins. CEL would only report that the string is not closed.
func (c celText) checkComment() bool {
	open := false
	for i := 0; i < len(c.runes) && !open; {
		var t token
		t, i = nextToken(c.runes, i)
		open = t == tokenOpen
	}
	p, found := c.commentAfter()
	if !open || !found {
		return false
	}
	c.value.ErrorAt(p, "YAML begins a comment at \" #\", within a string of the expression").Hint = c.wholeLine()
	return true
}

// checkComma records an error for an expression that YAML ends at a comma, within { } or
// [ ].
func (c celText) checkComma() bool {
	open := 0
	for _, r := range c.runes {
		switch r {
		case '(':
			open++
		case ')':
			open--
		}
	}
	p := c.at(len(c.runes))
	if after := c.value.text.cursor(p); open <= 0 || after.peek() != ',' {
		return false
	}
	c.value.ErrorAt(p, "YAML ends the expression at this comma, within { } or [ ]").Hint = "quote the whole expression"
	return true
}

// wholeLine returns the hint to quote a value together with the rest of its line,
// which YAML read as a comment.
func (c celText) wholeLine() string {
	p := c.at(0)
	line := []rune(c.value.text.line(p.Line))
	if len(c.marks) > 1 || p.Column > len(line) {
		return "quote the whole value"
	}
	return quoteIt(strings.TrimSpace(string(line[p.Column-1:])))
}

// split splits text at its ${...}. It returns nil after an error.
func (c celText) split() []Part {
	r := c.runes
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
			end, hidden := closingBrace(r, i+2)
			if end < 0 {
				c.unclosed(i, hidden)
				return nil
			}
			e := c.expr(i+2, end)
			if !c.checkLimits(e) {
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

func (c celText) unclosed(start, hidden int) {
	const hint = "write } after the expression, or $${ for a literal ${"
	switch {
	case hidden < 0:
		c.value.ErrorAt(c.at(start), "${ is never closed").Hint = hint
	case c.runes[hidden] == '/':
		c.value.ErrorAt(c.at(hidden), "${ is never closed: the comment extends over its }").Hint = "remove the comment"
	default:
		e := c.value.ErrorAt(c.at(hidden), "a string inside ${...} is never closed")
		e.Hint = "close its quote"
		if _, found := c.commentAfter(); found {
			e.Hint = "YAML begins a comment at \" #\": " + c.wholeLine()
		}
	}
}

// commentAfter returns the position of the comment that follows the scalar, and
// whether there is one.
func (c celText) commentAfter() (Pos, bool) {
	after := c.value.text.cursor(c.at(len(c.runes)))
	after.skipBlanks()
	return Pos{c.file, after.line, after.column}, after.peek() == '#'
}
