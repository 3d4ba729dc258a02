package format

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// isPlain reports whether a node is a block map whose entries can be laid out one by one:
// each begins with its key, in one column.
func (p *printer) isPlain(n *yaml.Node) bool {
	if n.Kind != yaml.MappingNode || n.Style&yaml.FlowStyle != 0 || len(n.Content) == 0 {
		return false
	}
	line := 0
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode || key.Anchor != "" || key.Column != n.Content[0].Column || key.Line <= line {
			return false
		}
		line = key.Line
		text := p.lines[line-1]
		if before := []rune(text)[:key.Column-1]; i > 0 && strings.TrimSpace(string(before)) != "" ||
			strings.Trim(string(before), " \t-") != "" {
			return false
		}
		if !beginsWithKey(skip(text, key.Column-1)) {
			return false
		}
	}
	return true
}

// beginsWithKey reports whether a text begins with a key and its colon.
func beginsWithKey(text string) bool {
	end := 0
	if text != "" && (text[0] == '"' || text[0] == '\'') {
		end = endOfQuotes(text)
	} else if end = strings.Index(text+" ", ": "); end < 0 || strings.Contains(text[:end], " #") {
		return false
	}
	return end <= len(text) && strings.HasPrefix(strings.TrimLeft(text[end:], " \t"), ":")
}

// lastLine returns the last line of a value that begins on the next line, or below it.
func (p *printer) lastLine(n *yaml.Node, at place) int {
	switch {
	case n.Kind == yaml.ScalarNode && n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return p.endOfBlock(n.Line-1, at)
	case n.Kind == yaml.ScalarNode && n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0,
		n.Kind != yaml.ScalarNode && n.Kind != yaml.AliasNode && n.Style&yaml.FlowStyle != 0:
		return p.endOfBrackets(n)
	case n.Kind == yaml.MappingNode || n.Kind == yaml.SequenceNode:
		return max(at.end-1, p.next) // It is not plain: all lines belong to it.
	}
	last := at.end - 1
	for last > p.next && (isBlank(p.lines[last]) || isComment(p.lines[last])) {
		last--
	}
	return last
}

// endOfBlock returns the last line of a text after | or >.
func (p *printer) endOfBlock(header int, at place) int {
	mark := p.lines[header]
	mark = mark[strings.LastIndexAny(beforeComment(mark), "|>"):]
	indent := 0
	if i := strings.IndexAny(beforeComment(mark), "123456789"); i > 0 {
		indent = at.from + int(mark[i]-'0')
	}
	last := header
	for i := header + 1; i < at.end; i++ {
		line := p.lines[i]
		if isBlank(line) {
			continue
		}
		if indent == 0 {
			indent = indentation(line)
		}
		if indentation(line) < indent || indent <= at.from && at.from > 0 {
			break
		}
		last = i
	}
	if strings.Contains(beforeComment(mark), "+") { // Blank lines at the end belong to the text.
		for last+1 < at.end && isBlank(p.lines[last+1]) {
			last++
		}
	}
	return last
}

// beforeComment returns the text before a comment.
func beforeComment(text string) string {
	before, _, _ := strings.Cut(text, " #")
	return before
}

// endOfBrackets returns the line where a quoted text or a flow map or list ends.
func (p *printer) endOfBrackets(n *yaml.Node) int {
	line, text := n.Line-1, skip(p.lines[n.Line-1], n.Column-1)
	text = text[max(0, strings.IndexAny(text, `"'{[`)):] // behind an anchor
	for depth := 0; ; {
		for text == "" {
			if line++; line >= len(p.lines) {
				return len(p.lines) - 1
			}
			text = p.lines[line]
			if isComment(text) {
				text = ""
			}
		}
		switch c := text[0]; {
		case c == '"' || c == '\'':
			for endOfQuotes(text) > len(text) && line+1 < len(p.lines) {
				line++
				text = text + "\n" + p.lines[line]
			}
			text = text[min(endOfQuotes(text), len(text)):]
		case c == '{' || c == '[':
			depth++
			text = text[1:]
		case c == '}' || c == ']':
			depth--
			text = text[1:]
		case c == '#':
			text = ""
		default:
			text = afterPlain(text)
		}
		if depth == 0 {
			return line
		}
	}
}

// afterPlain returns what follows a character outside of quotes, or a word: a quote or #
// within a word means nothing.
func afterPlain(text string) string {
	if strings.ContainsAny(text[:1], " \t,:") {
		return text[1:]
	}
	for i, c := range text {
		if strings.ContainsRune(" \t,:{}[]", c) {
			return text[i:]
		}
	}
	return ""
}

// endOfQuotes returns the end of the quoted text at the start, or more than the length
// if it does not end.
func endOfQuotes(text string) int {
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && text[0] == '"':
			i++
		case text[i] != text[0]:
		case text[0] == '\'' && i+1 < len(text) && text[i+1] == '\'':
			i++
		default:
			return i + 1
		}
	}
	return len(text) + 1
}
