package scaffold

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"reconcel/internal/yamltext"

	"go.yaml.in/yaml/v3"
)

// firstKeys come before all others in a map, in this order.
var firstKeys = []string{"apiVersion", "kind", "metadata", "name", "namespace", "spec", "image", "for", "schema", "let",
	"id", "onChange", "children", "allow", "replicas", "selector", "serviceName", "template"}

// escaped writes a text so that rules read it as it is.
func escaped(text string) string { return strings.ReplaceAll(text, "${", "$${") }

// node returns a value as YAML. Texts are literal in rules, unlike expressions.
func node(v any, literal func(string) string) *yaml.Node {
	switch v := v.(type) {
	case *yaml.Node:
		return v
	case expression:
		return textNode(string(v))
	case string:
		return textNode(literal(v))
	case map[string]any:
		n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		for _, key := range sortedKeys(v) {
			n.Content = append(n.Content, textNode(key), node(v[key], literal))
		}
		if len(v) == 0 {
			n.Style = yaml.FlowStyle
		}
		return n
	case []any:
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for _, item := range v {
			n.Content = append(n.Content, node(item, literal))
		}
		if len(v) == 0 {
			n.Style = yaml.FlowStyle
		}
		return n
	}
	n := &yaml.Node{}
	_ = n.Encode(v) // Numbers and booleans have a text.
	return n
}

func textNode(text string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(text)
	return n
}

func sortedKeys(m map[string]any) []string {
	rank := func(key string) int {
		if i := slices.Index(firstKeys, key); i >= 0 {
			return i
		}
		return len(firstKeys)
	}
	return slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
}

func asIs(text string) string { return text }

// document writes documents of YAML.
func document(values ...any) ([]byte, error) {
	var all []*yaml.Node
	for _, v := range values {
		all = append(all, node(v, asIs))
	}
	text, err := yamltext.Documents(all...)
	if err != nil {
		return nil, fmt.Errorf("write YAML: %w", err)
	}
	return text, nil
}
