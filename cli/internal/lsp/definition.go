package lsp

import (
	"slices"
	"strings"
)

// definition returns where the name at a spot is defined: an entry of define, an id, let,
// lookup or a name of forEach, or for, which defines self. The list is empty for anything else.
func (s *server) definition(d *document, at spot) []location {
	p := d.place(at)
	n := p.node
	if n == nil {
		n = p.parent
	}
	name := ""
	if e, inside := d.expression(p); inside {
		if c, found := e.chain(); found && c.operand == "" {
			name = c.word
		}
	} else if n.item && n.parent.key == "after" || n.key == "after" {
		name = string(d.word(at))
	}
	found := []location{}
	if name == "" {
		return found
	}
	if def := n.defined(name); def != nil {
		return append(found, location{d.uri, d.span(def.line, def.indent, def.end)})
	}
	rule := n.rule()
	if rule == nil {
		return found
	}
	entry, _ := n.entry()
	all := definitions(rule, entry, name)
	if path := n.path(); len(path) > 4 && path[2] == "let" {
		if def := rule.find("let", path[3], name); def != nil {
			all = append(all, def)
		}
	}
	for _, def := range all {
		r := d.span(def.line, def.indent, def.end)
		if def.key == "id" || def.key == "name" || def.key == "index" {
			r = d.span(def.line, def.at, def.at+len([]rune(def.value)))
		}
		found = append(found, location{d.uri, r})
	}
	return found
}

// defined returns the entry of define with a name in the document of a node, or nil.
func (n *node) defined(name string) *node {
	top := n
	for top.parent != nil && top.parent.parent != nil {
		top = top.parent
	}
	define := top.find("define")
	if define == nil {
		return nil
	}
	i := slices.IndexFunc(define.children, func(def *node) bool {
		key, _, _ := strings.Cut(def.key, "(")
		return strings.TrimSpace(key) == name
	})
	if i < 0 {
		return nil
	}
	return define.children[i]
}

// textOf returns the lines of a key with its value.
func (d *document) textOf(n *node) string {
	var text strings.Builder
	text.WriteString(string(d.line(n.line)[n.indent:]))
	for line := n.line + 1; ; line++ {
		next := d.line(line)
		if indent := indentOf(next); indent == len(next) || indent <= n.indent {
			break
		}
		text.WriteString("\n" + string(next[n.indent:]))
	}
	return text.String()
}

// definitions returns the nodes that define a name in a rule.
func definitions(rule, entry *node, name string) (all []*node) {
	if name == "self" {
		all = append(all, rule.find("for"))
	}
	all = append(all, rule.find("let", name))
	lists := slices.Concat(rule.find("lookups").items(), rule.find("children").items(), rule.find("finalize").items())
	for _, item := range lists {
		if id := item.find("id"); id.text() == name {
			all = append(all, id)
		}
	}
	all = append(all, entry.find("forEach", name))
	for _, item := range entry.find("forEach").items() {
		for _, key := range []string{"name", "index"} {
			if def := item.find(key); def.text() == name {
				all = append(all, def)
			}
		}
	}
	return slices.DeleteFunc(all, func(n *node) bool { return n == nil })
}

// word returns the word at a spot.
func (d *document) word(at spot) []rune {
	line := d.line(at.line)
	from, to := min(at.column, len(line)), min(at.column, len(line))
	for from > 0 && isWord(line[from-1]) {
		from--
	}
	for to < len(line) && isWord(line[to]) {
		to++
	}
	return line[from:to]
}
