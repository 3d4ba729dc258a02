package format

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// sameMeaning reports whether two texts have the same data, in any order of keys.
func sameMeaning(a, b string) bool {
	before, err := parse(a)
	if err != nil {
		return false
	}
	after, err := parse(b)
	return err == nil && slices.EqualFunc(filled(before), filled(after), sameNode)
}

// filled returns the documents that have data.
func filled(documents []*yaml.Node) []*yaml.Node {
	return slices.DeleteFunc(documents, func(n *yaml.Node) bool {
		return len(n.Content) == 0 || n.Content[0].ShortTag() == "!!null"
	})
}

func sameNode(a, b *yaml.Node) bool {
	if a.Kind != b.Kind || meantTag(a) != meantTag(b) || a.Anchor != b.Anchor || len(a.Content) != len(b.Content) {
		return false
	}
	switch a.Kind {
	case yaml.ScalarNode:
		return strings.ReplaceAll(a.Value, "\r\n", "\n") == b.Value
	case yaml.AliasNode:
		return a.Value == b.Value
	case yaml.MappingNode:
		return sameEntries(a.Content, b.Content)
	}
	return slices.EqualFunc(a.Content, b.Content, sameNode)
}

// sameEntries compares the keys and values of two maps in any order.
func sameEntries(a, b []*yaml.Node) bool {
	values := map[string]*yaml.Node{}
	for i := 0; i+1 < len(b); i += 2 {
		if b[i].Kind != yaml.ScalarNode {
			return slices.EqualFunc(a, b, sameNode)
		}
		values[b[i].Value] = b[i+1]
	}
	for i := 0; i+1 < len(a); i += 2 {
		if values[a[i].Value] == nil || !sameNode(a[i+1], values[a[i].Value]) {
			return false
		}
	}
	return true
}

// meantTag returns the type of a node. A date is a string in rules.
func meantTag(n *yaml.Node) string {
	if tag := n.ShortTag(); tag != "!!timestamp" {
		return tag
	}
	return "!!str"
}
