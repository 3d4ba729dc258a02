package lsp

import (
	"slices"

	"reconcel/rules/check"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// An expression is the expression that the cursor is in.
type expression struct {
	text   []rune
	at     int // the cursor
	start  int // where the expression begins in the text of the place
	tokens []source.Token
}

// expression returns the expression at a place, and whether it is in one.
func (d *document) expression(p place) (e expression, found bool) {
	n := p.node
	if n == nil {
		n = p.parent
	}
	if s := keySchema(n.path()); s != nil && syntax.IsExpression(s) && p.node != nil && !p.isKey {
		e = expression{text: p.text, at: p.at}
		if len(e.text) > 0 && (e.text[0] == '"' || e.text[0] == '\'') && p.top.line == n.line {
			e = expression{text: e.text[1:], at: p.at - 1, start: 1}
		}
		if e.at < 0 || len(n.value) > 0 && (n.value[0] == '{' || n.value[0] == '[') {
			return e, false
		}
	} else {
		start, end, inside := source.ExpressionAt(p.text, p.at)
		if !inside {
			return e, false
		}
		e = expression{text: p.text[start:end], at: p.at - start, start: start}
	}
	e.tokens = source.Tokens(e.text)
	return e, true
}

// A chain is a name at the cursor with the value before it: in self.spec.re, the word
// is re, of the value self.spec.
type chain struct {
	operand    string // "": the word stands alone
	start, end int    // of the word, in the expression
	word       string // all of it
}

// chain returns the name at the cursor. It is not found within a string.
func (e expression) chain() (c chain, found bool) {
	c.start, c.end = e.at, e.at
	before := len(e.tokens)
	for i, t := range e.tokens {
		switch {
		case t.Quoted && t.Start < e.at && e.at < t.End:
			return c, false
		case t.Name && t.Start <= e.at && e.at <= t.End:
			c.start, c.end, c.word = t.Start, t.End, t.Text
			before = min(before, i)
		case t.Start >= e.at:
			before = min(before, i)
		}
	}
	i := before - 1
	if i >= 0 && e.tokens[i].Text == "?" && i > 0 && e.tokens[i-1].Text == "." {
		i--
	}
	if i < 0 || e.tokens[i].Text != "." {
		return c, true
	}
	from := e.operand(i - 1)
	if from < 0 {
		return c, false
	}
	c.operand = string(e.text[e.tokens[from].Start:e.tokens[i-1].End])
	return c, true
}

// operand returns the first token of the value that ends with a token, or -1.
func (e expression) operand(last int) int {
	i := last
	for i >= 0 {
		switch t := e.tokens[i]; {
		case t.Text == ")" || t.Text == "]" || t.Text == "}":
			if i = e.opening(i); i < 0 {
				return -1
			}
			if i > 0 && e.tokens[i].Text == "[" && (e.tokens[i-1].Text == ")" || e.tokens[i-1].Text == "]") {
				i--
				continue // It is an index of what another bracket closes.
			}
			if i > 0 && e.tokens[i-1].Name {
				i-- // A call, or an index.
			}
		case !t.Name && !t.Quoted:
			return -1
		}
		switch {
		case i >= 2 && e.tokens[i-1].Text == ".":
			i -= 2
		case i >= 3 && e.tokens[i-1].Text == "?" && e.tokens[i-2].Text == ".":
			i -= 3
		default:
			return i
		}
	}
	return i
}

// opening returns the token that opens the bracket which a token closes, or -1.
func (e expression) opening(i int) int {
	depth := 0
	for ; i >= 0; i-- {
		switch e.tokens[i].Text {
		case ")", "]", "}":
			depth++
		case "(", "[", "{":
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// oneName and twoNames are macros that declare a name, or two, for their last arguments.
var (
	oneName  = []string{"all", "exists", "exists_one", "existsOne", "map", "filter", "sortBy", "optMap", "optFlatMap"}
	twoNames = []string{"all", "exists", "existsOne", "transformList", "transformMap", "transformMapEntry"}
)

// locals returns the scope with the names of the macros around the cursor.
func (e expression) locals(s *check.Scope) *check.Scope {
	var open []int
	for i, t := range e.tokens {
		if t.Start >= e.at {
			break
		}
		switch {
		case t.Text == "(":
			open = append(open, i)
		case t.Text == ")" && len(open) > 0:
			open = open[:len(open)-1]
		}
	}
	for _, i := range open {
		s = e.local(s, i)
	}
	return s
}

// local adds the names of the macro whose bracket is a token.
func (e expression) local(s *check.Scope, i int) *check.Scope {
	if i < 3 || i+2 >= len(e.tokens) || !e.tokens[i-1].Name || e.tokens[i-2].Text != "." || !e.tokens[i+1].Name ||
		e.tokens[i+2].Text != "," {
		return s
	}
	from := e.operand(i - 3)
	if from < 0 {
		return s
	}
	macro, name := e.tokens[i-1].Text, e.tokens[i+1].Text
	target := s.TypeOf(&source.Expr{Text: string(e.text[e.tokens[from].Start:e.tokens[i-3].End])}).Value()
	two := i+4 < len(e.tokens) && e.tokens[i+3].Name && e.tokens[i+4].Text == ","
	switch {
	case two && slices.Contains(twoNames, macro):
		return s.With(name, target.Key()).With(e.tokens[i+3].Text, target.Element())
	case !slices.Contains(oneName, macro):
		return s
	case target.IsList():
		return s.With(name, target.Element())
	case macro == "optMap" || macro == "optFlatMap":
		return s.With(name, target)
	}
	return s.With(name, target.Key())
}
