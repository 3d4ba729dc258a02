package format

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"reconcel/rules/source"
)

// A printer lays out the lines of a text, from the first to the last.
type printer struct {
	lines  []string
	next   int  // the first line that is not laid out yet
	sorted bool // maps of this document get the order of the language
}

// A part is some laid out lines of a map or list.
type part struct {
	lead []string // blank lines and comments before the first entry
	body []string
}

// An entry is the part of one key or item.
type entry struct {
	part
	key string
}

// A place is where a map or list is: the column that its entries have, the one that they
// get, and the line after it.
type place struct{ from, to, end int }

// documents lays out all documents. Those that are not block maps stay as they are.
func (p *printer) documents(all []*yaml.Node, root *source.Schema) []string {
	var out []string
	for _, doc := range all {
		if len(doc.Content) == 0 || !p.isPlain(doc.Content[0]) {
			continue
		}
		n := doc.Content[0]
		start := n.Content[0].Line - 1
		out = append(out, p.between(start)...)
		end := start + 1
		for end < len(p.lines) && !isMarker(p.lines[end]) {
			end++
		}
		p.sorted = !hasAnchors(n)
		laid := p.mapping(n, root, place{n.Content[0].Column - 1, 0, end})
		out = append(append(out, laid.lead...), laid.body...)
	}
	out = append(out, p.between(len(p.lines))...)
	return trimmed(out)
}

// between returns the lines up to a document as they are, without superfluous blank lines.
func (p *printer) between(end int) []string {
	lines := p.lines[p.next:end]
	p.next = end
	if slices.ContainsFunc(lines, func(line string) bool {
		return !isBlank(line) && !isComment(line) && !isMarker(line)
	}) {
		return lines
	}
	var out []string
	for _, line := range lines {
		if line = strings.TrimRight(line, " \t"); line != "" || len(out) > 0 && out[len(out)-1] != "" {
			out = append(out, line)
		}
	}
	return out
}

// mapping lays out a block map.
func (p *printer) mapping(n *yaml.Node, s *source.Schema, at place) part {
	var entries []entry
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		e := entry{key: key.Value}
		start := key.Line - 1
		if start > p.next {
			e.lead = p.lead(start, at.to)
		}
		next := at
		if i+2 < len(n.Content) {
			next.end = n.Content[i+2].Line - 1
		}
		e.body = p.value(value, valueSchema(s, key.Value), next)
		entries = append(entries, e)
	}
	if tail := p.tail(at); len(tail) > 0 {
		entries = append(entries, entry{part: part{lead: tail}})
	}
	if p.sorted {
		sorted(entries[:len(n.Content)/2], keyOrder(n, s))
	}
	return joined(entries)
}

// value lays out a key and its value. The line of the key is the next one.
func (p *printer) value(n *yaml.Node, s *source.Schema, at place) []string {
	line := p.next
	if inner, ok := p.below(n, line, at); ok {
		header := strings.Repeat(" ", at.to) + strings.TrimRight(skip(p.lines[line], at.from), " \t")
		p.next++
		if n.Kind == yaml.MappingNode {
			inner.to = at.to + 2
			laid := p.mapping(n, s, inner)
			return slices.Concat([]string{header}, withoutBlanks(laid.lead), laid.body)
		}
		inner.to = at.to
		laid := p.sequence(n, s, inner)
		return slices.Concat([]string{header}, withoutBlanks(laid.lead), laid.body)
	}
	return p.leaf(n, at, strings.Repeat(" ", at.to)+skip(p.lines[line], at.from))
}

// below returns where a map or list is that begins on a line after its key or dash.
func (p *printer) below(n *yaml.Node, line int, at place) (place, bool) {
	switch {
	case p.isPlain(n) && n.Content[0].Line-1 > line:
		return place{from: n.Content[0].Column - 1, end: at.end}, true
	case n.Kind == yaml.SequenceNode && n.Style&yaml.FlowStyle == 0 && len(n.Content) > 0:
		if first := p.written(line + 1); first < at.end && n.Content[0].Line-1 > line &&
			strings.HasPrefix(strings.TrimLeft(p.lines[first], " "), "-") {
			return place{from: indentation(p.lines[first]), end: at.end}, true
		}
	}
	return place{}, false
}

// sequence lays out a block list.
func (p *printer) sequence(n *yaml.Node, s *source.Schema, at place) part {
	var entries []entry
	for i, item := range n.Content {
		var e entry
		next := at
		if i+1 < len(n.Content) {
			next.end = p.dashOf(n.Content[i+1], item, at)
		}
		if start := p.written(p.next); start > p.next {
			e.lead = p.lead(start, at.to)
		}
		laid := p.item(item, itemSchema(s), next)
		e.lead = append(e.lead, laid.lead...)
		e.body = laid.body
		entries = append(entries, e)
	}
	if tail := p.tail(at); len(tail) > 0 {
		entries = append(entries, entry{part: part{lead: tail}})
	}
	return joined(entries)
}

// dashOf returns the line with the dash of an item, which follows another one.
func (p *printer) dashOf(item, before *yaml.Node, at place) int {
	isDash := func(line int) bool {
		return indentation(p.lines[line]) == at.from && strings.HasPrefix(p.lines[line][at.from:], "-")
	}
	line := item.Line - 1
	if isNothing(item) { // Its position is that of what follows.
		for line = max(lastOf(before), p.next+1); line < at.end-1 && !isDash(line); {
			line++
		}
		return line
	}
	for line > p.next+1 && !isDash(line) {
		line--
	}
	return line
}

// isNothing reports whether a value is not written.
func isNothing(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Style == 0 && n.Value == "" && n.Anchor == ""
}

// lastOf returns the last line on which something begins in a node, from 1.
func lastOf(n *yaml.Node) int {
	last := 0
	if !isNothing(n) {
		last = n.Line
	}
	for _, c := range n.Content {
		last = max(last, lastOf(c))
	}
	return last
}

// item lays out an item of a list. The line of its dash is the next one.
func (p *printer) item(n *yaml.Node, s *source.Schema, at place) part {
	line := p.next
	rest := strings.TrimLeft(skip(p.lines[line], at.from)[1:], " \t")
	dash := strings.Repeat(" ", at.to) + "- "
	inner, isBelow := p.below(n, line, at)
	switch {
	case isBelow:
		p.next++
	case p.isPlain(n):
		inner = place{from: n.Content[0].Column - 1, end: at.end}
	case n.Kind == yaml.SequenceNode && n.Style&yaml.FlowStyle == 0 && n.Anchor == "" && strings.HasPrefix(rest, "-"):
		inner = place{from: n.Column - 1, end: at.end}
	default:
		return part{body: p.leaf(n, at, strings.TrimRight(dash+rest, " "))}
	}
	inner.to = at.to + 2
	var laid part
	if n.Kind == yaml.MappingNode {
		laid = p.mapping(n, s, inner)
	} else {
		laid = p.sequence(n, s, inner)
	}
	laid.lead = withoutBlanks(laid.lead)
	if isBelow && rest != "" { // a comment or an anchor
		return part{body: slices.Concat([]string{strings.TrimRight(dash+rest, " \t")}, laid.lead, laid.body)}
	}
	laid.body[0] = dash + laid.body[0][inner.to:]
	return laid
}

// leaf moves the lines of a value with its key or dash. first is the line with these.
func (p *printer) leaf(n *yaml.Node, at place, first string) []string {
	from, last := p.next, p.lastLine(n, at)
	out := []string{first}
	for _, line := range p.lines[from+1 : last+1] {
		out = append(out, moved(line, at.to-at.from))
	}
	if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 || from == last {
		out[len(out)-1] = strings.TrimRight(out[len(out)-1], " \t")
	} else {
		out[0] = strings.TrimRight(out[0], " \t")
	}
	p.next = last + 1
	return out
}
