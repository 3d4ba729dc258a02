package lsp

import "strings"

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
