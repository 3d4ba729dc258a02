package foreign

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"reconcel/rules/source"
)

// Text returns a text that is no data with ${...}: a name, or a bare expression.
func Text(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	if strings.Contains(s, "\n") {
		n.Style = yaml.LiteralStyle
	}
	return n
}

// List returns a list.
func List(items ...*yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: items}
}

// Texts returns a list of texts.
func Texts(items []string) *yaml.Node {
	out := List()
	for _, s := range items {
		out.Content = append(out.Content, Text(s))
	}
	return out
}

// Map returns a map of keys and values in turn. A key whose value is nil is left out.
func Map(pairs ...any) *yaml.Node {
	out := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for i := 0; i+1 < len(pairs); i += 2 {
		if value, _ := pairs[i+1].(*yaml.Node); value != nil {
			out.Content = append(out.Content, Text(pairs[i].(string)), value)
		}
	}
	return out
}

// Bare returns an expression without ${...}, or nil without an expression.
func Bare(expression string) *yaml.Node {
	if expression == "" {
		return nil
	}
	return Text(expression)
}

// Data returns data with ${...} as rules have it.
func Data(n *source.Node) *yaml.Node {
	switch n.Kind {
	case source.Map:
		out := Map()
		for _, f := range n.Fields {
			out.Content = append(out.Content, Text(f.Key.Value), Data(f.Value))
		}
		return out
	case source.List:
		out := List()
		for _, item := range n.Items {
			out.Content = append(out.Content, Data(item))
		}
		return out
	case source.Text, source.Interp:
		return Text(interpolated(n))
	case source.Null:
		return scalar("!!null", "null")
	case source.Bool:
		return scalar("!!bool", fmt.Sprint(n.Value))
	case source.Int:
		return scalar("!!int", written(n))
	}
	return scalar("!!float", written(n))
}

func scalar(tag, value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value}
}

// written returns a number as the input has it: 0644 has another meaning than 420.
func written(n *source.Node) string {
	if n.Written != "" {
		return n.Written
	}
	return fmt.Sprint(n.Value)
}

// interpolated returns a text with its expressions in ${...}.
func interpolated(n *source.Node) string {
	if s, literal := n.Value.(string); literal {
		return strings.ReplaceAll(s, "${", "$${")
	}
	var b strings.Builder
	for _, p := range n.Parts {
		if p.Expr == nil {
			b.WriteString(strings.ReplaceAll(p.Text, "${", "$${"))
			continue
		}
		if strings.HasSuffix(b.String(), "$") {
			b.WriteString(`{"$"}`) // $${ would be a literal ${.
		}
		b.WriteString("${" + p.Expr.Text + "}")
	}
	return b.String()
}
