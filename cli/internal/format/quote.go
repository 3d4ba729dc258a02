package format

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// boolean matches words that are strings in rules, and booleans to kubectl and others.
var boolean = regexp.MustCompile(`^(yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF)$`)

// quoted puts words that other readers of YAML take for something else into quotes.
func quoted(text string, documents []*yaml.Node) string {
	var words []*yaml.Node
	for _, n := range documents {
		words = appendWords(words, n)
	}
	slices.SortFunc(words, func(a, b *yaml.Node) int {
		return cmp.Or(cmp.Compare(b.Line, a.Line), cmp.Compare(b.Column, a.Column)) // from the end
	})
	lines := strings.Split(text, "\n")
	for _, n := range words {
		line := []rune(lines[n.Line-1])
		from := n.Column - 1
		to := from + len([]rune(n.Value))
		if to <= len(line) && string(line[from:to]) == n.Value {
			lines[n.Line-1] = string(line[:from]) + `"` + n.Value + `"` + string(line[to:])
		}
	}
	return strings.Join(lines, "\n")
}

func appendWords(words []*yaml.Node, n *yaml.Node) []*yaml.Node {
	if n.Kind == yaml.ScalarNode && n.Style == 0 && n.Anchor == "" && (boolean.MatchString(n.Value) ||
		n.ShortTag() == "!!timestamp") {
		return append(words, n)
	}
	for _, c := range n.Content {
		words = appendWords(words, c)
	}
	return words
}
