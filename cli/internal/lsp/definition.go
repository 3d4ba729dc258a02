package lsp

import "slices"

// definition returns where the name at a spot is defined: an id, let, lookup or a name
// of forEach, or for, which defines self. The list is empty for anything else.
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
	rule := n.rule()
	if name == "" || rule == nil {
		return []location{}
	}
	entry, _ := n.entry()
	found := []location{}
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
