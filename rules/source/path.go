package source

import (
	"cmp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// PathAt returns the path of the key or value at a position, such as rules[0].children[1].template, or "" if the
// position is in none. A map begins at its first key: there, a message is about the key only if it quotes the key.
// Only the first document of a file counts.
func PathAt(file File, at Pos, message string) string {
	t := newText(file)
	docs, _ := t.load()
	if len(docs) == 0 {
		return ""
	}
	path := ""
	var visit func(n *yaml.Node, of string)
	visit = func(n *yaml.Node, of string) {
		if t.after(n, at) {
			return
		}
		path = of
		for i, child := range n.Content {
			switch n.Kind {
			case yaml.DocumentNode:
				visit(child, of)
			case yaml.SequenceNode:
				visit(child, of+"["+strconv.Itoa(i)+"]")
			case yaml.MappingNode:
				key := n.Content[i-i%2]
				ofMap := i == 0 && t.pos(key) == at && !quotes(message, key.Value)
				if !ofMap && !t.after(key, at) {
					visit(child, joinPath(of, key.Value))
				}
			}
		}
	}
	visit(docs[0], "")
	return path
}

// quotes reports whether a message has a text in quotes.
func quotes(message, text string) bool {
	return strings.Contains(message, strconv.Quote(text)) || strings.Contains(message, "'"+text+"'")
}

// after reports whether a node begins after a position.
func (t *text) after(n *yaml.Node, at Pos) bool {
	begins := t.pos(n)
	return cmp.Or(cmp.Compare(begins.Line, at.Line), cmp.Compare(begins.Column, at.Column)) > 0
}
