package syntax

import (
	"math"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// isText tells the scalars that are strings. Dates are: Kubernetes' JSON has
// no other form for them.
func isText(n *yaml.Node) bool {
	switch n.Tag {
	case "!!null", "!!bool", "!!int", "!!float":
		return false
	}
	return true
}

// data reads a value in which ${...} stands for values. It returns nil if
// something is wrong with all of it.
func (s scope) data(n *yaml.Node) *Node {
	p := s.text.pos(n)
	switch n.Kind {
	case yaml.MappingNode:
		d := &Node{Kind: Map, Pos: p}
		for _, e := range s.entries(n) {
			if s.badDataKey(e.key) {
				continue
			}
			if value := s.key(e.key.Value).data(e.value); value != nil {
				d.Fields = append(d.Fields, Field{e.key, value})
			}
		}
		d.Lacking = 2*len(d.Fields) < len(n.Content)
		return d
	case yaml.SequenceNode:
		d := &Node{Kind: List, Pos: p}
		for i, item := range n.Content {
			if value := s.index(i).data(item); value != nil {
				d.Items = append(d.Items, value)
			}
		}
		d.Lacking = len(d.Items) < len(n.Content)
		return d
	case yaml.ScalarNode:
		if isText(n) {
			return s.interpolated(n)
		}
		return s.plain(n)
	}
	return nil
}

// badDataKey complains about keys that are no literals: computed ones, and
// those that YAML made of an expression with a colon in it.
func (s scope) badDataKey(key String) bool {
	open := strings.Contains(key.Value, "${")
	switch {
	case strings.Contains(key.Value, " ? "), open && !strings.Contains(key.Value, "}"):
		value, _ := valueOf(s.text.line(key.Pos.Line))
		s.errorf(key.Pos, "%q is read as a key", key.Value).Hint = "YAML reads \": \" as the end of a key: " + quoteIt(value)
	case open:
		s.errorf(key.Pos, "key %q must be a literal", key.Value).Hint = "for computed keys, make the whole map an expression"
	default:
		return false
	}
	return true
}

// interpolated reads a string that may hold ${...}.
func (s scope) interpolated(n *yaml.Node) *Node {
	p := s.text.pos(n)
	if !strings.Contains(n.Value, "${") {
		return &Node{Kind: Text, Pos: p, Value: n.Value}
	}
	parts := s.parts(s.text.scalar(n))
	switch {
	case parts == nil:
		return nil
	case len(parts) == 1 && parts[0].Expr == nil:
		return &Node{Kind: Text, Pos: p, Value: parts[0].Text}
	}
	return &Node{Kind: Interp, Pos: p, Parts: parts}
}

var digits = regexp.MustCompile(`^[-+]?[0-9][0-9_]*$`)

// plain reads null, booleans and numbers.
func (s scope) plain(n *yaml.Node) *Node {
	p := s.text.pos(n)
	switch n.Tag {
	case "!!null":
		return &Node{Kind: Null, Pos: p}
	case "!!bool":
		return &Node{Kind: Bool, Pos: p, Value: strings.EqualFold(n.Value, "true")}
	case "!!int":
		var i int64
		if n.Decode(&i) == nil {
			return &Node{Kind: Int, Pos: p, Value: i}
		}
		s.errorf(p, "%s does not fit into 64 bits", n.Value).Hint = "if it is text, quote it"
		return nil
	}
	var f float64
	switch err := n.Decode(&f); {
	case err == nil && digits.MatchString(n.Value):
		s.errorf(p, "%s does not fit into 64 bits", n.Value).Hint = "if it is text, quote it"
	case err != nil || math.IsInf(f, 0) || math.IsNaN(f):
		s.errorf(p, "%s has no place in Kubernetes' JSON", n.Value).Hint = "if it is text, quote it"
	default:
		return &Node{Kind: Float, Pos: p, Value: f}
	}
	return nil
}

// sentence reads a field that is text and may hold ${...}, or nothing.
func (s scope) sentence(n *yaml.Node) *Node {
	switch {
	case n == nil || broken(n):
		return nil
	case n.Kind != yaml.ScalarNode || isNull(n):
		s.wrongShape(n, "text")
		return nil
	case !isText(n):
		s.errorf(s.text.pos(n), "expected text, got %s", describe(n)).Hint = "write " + quoted(n.Value)
		return nil
	}
	return s.interpolated(n)
}
