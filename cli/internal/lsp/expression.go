package lsp

import (
	"slices"
	"strings"

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

// A place is what the cursor is in: a key, or a value.
type place struct {
	parent *node // of the key
	node   *node // the key or item, or nil where one may begin

	isKey    bool
	from, to int // the word that completion replaces, on the line of the cursor

	text []rune // of the value: one line, or all lines of a block
	at   int    // the cursor in it
	top  spot   // where the text begins
}

// place finds what a spot is in.
func (d *document) place(s spot) place {
	last := d.outline.before(s.line)
	if b := blockOf(last, s); b != nil {
		return d.inBlock(b, s)
	}
	line := d.line(s.line)
	var n *node
	for _, other := range d.outline.all {
		if other.line == s.line && other.indent <= s.column && other.encloses(s.column) {
			n = other
		}
	}
	from := min(s.column, len(line))
	for from > 0 && !strings.ContainsRune(" \t{},[]:\"'", line[from-1]) {
		from--
	}
	switch {
	case n == nil && s.column > indentOf(line) && indentOf(line) < len(line):
		return place{parent: last, isKey: false} // A comment, or nothing that is known.
	case n == nil:
		return place{parent: last.holder(s.column, false), isKey: true, from: from, to: s.column}
	case n.partial:
		return place{parent: n.parent, isKey: true, from: n.indent, to: n.indent + len([]rune(n.value))}.inText(n, s)
	case n.key != "" && s.column <= n.end:
		return place{parent: n.parent, node: n, isKey: true, from: n.indent, to: n.end}
	case strings.HasPrefix(n.value, "{"), n.item && n.value == "" && s.column > n.indent:
		return place{parent: n, isKey: true, from: from, to: s.column}
	case strings.HasPrefix(n.value, "[") && s.column > n.at:
		next := &node{item: true, parent: n, line: s.line, indent: s.column, at: s.column}
		return place{parent: next, node: next, isKey: true, from: from, to: s.column}
	}
	p := place{parent: n.parent, node: n, text: []rune(n.value), at: max(0, s.column-n.at), top: spot{n.line, n.at}}
	if n.value == "" {
		p.top.column = s.column
	}
	p.at = min(p.at, len(p.text))
	if n.item { // It may become a key.
		p.parent, p.isKey = n, true
	}
	p.from, p.to = from, from
	for p.to < len(line) && !strings.ContainsRune(" \t{},[]:\"'", line[p.to]) {
		p.to++
	}
	return p
}

// encloses reports whether a column may be in a node of its line.
func (n *node) encloses(column int) bool {
	if n.parent == nil || n.parent.line != n.line || !n.parent.isFlow() {
		return true
	}
	end := max(n.at+len([]rune(n.value)), n.end)
	return column <= end || n.value == "" && column <= n.at
}

func (n *node) isFlow() bool {
	return strings.HasPrefix(n.value, "{") || strings.HasPrefix(n.value, "[")
}

// inText adds the text of a node, for a place that may be either.
func (p place) inText(n *node, s spot) place {
	p.text, p.top = []rune(n.value), spot{n.line, n.indent}
	p.at = min(max(0, s.column-n.indent), len(p.text))
	return p
}

// blockOf returns the key whose block of text a spot is in, or nil.
func blockOf(last *node, s spot) *node {
	if last.block && s.line > last.line && (s.line <= last.last || s.column > last.indent) {
		return last
	}
	return nil
}

func (d *document) inBlock(n *node, s spot) place {
	p := place{parent: n.parent, node: n, top: spot{n.line + 1, 0}}
	for i := n.line + 1; i <= max(n.last, s.line); i++ {
		if i == s.line {
			p.at = len(p.text) + min(s.column, len(d.line(i)))
		}
		p.text = append(append(p.text, d.line(i)...), '\n')
	}
	return p
}

// spotOf returns where a character of the text is in the file.
func (p place) spotOf(at int) spot {
	s := p.top
	for _, r := range p.text[:min(at, len(p.text))] {
		if s.column++; r == '\n' {
			s = spot{line: s.line + 1}
		}
	}
	return s
}
