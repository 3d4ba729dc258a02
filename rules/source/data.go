package source

import (
	"math"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Data reads data with ${...} expressions. It returns nil if the whole value is
// invalid.
func (v Value) Data() *Node {
	return readData(v, interpolatedText, func(v Value, key String) bool { return !badDataKey(v, key) })
}

// AsItIs reads data in which ${...} has no meaning.
func (v Value) AsItIs() *Node {
	return readData(v, verbatimText, func(Value, String) bool { return true })
}

// readData reads data. readText reads its texts, and accepts says which keys to keep.
func readData(v Value, readText func(Value) *Node, accepts func(Value, String) bool) *Node {
	d := &Node{Pos: v.Pos()}
	switch v.node.Kind {
	case yaml.MappingNode:
		d.Kind = Map
		for _, e := range v.Entries() {
			if accepts(v, e.Key) {
				d.add(e.Key, readData(e.Value, readText, accepts))
			}
		}
		d.Lacking = len(d.Fields) < v.Len()
	case yaml.SequenceNode:
		d.Kind = List
		for _, item := range v.PeekItems() {
			if value := readData(item, readText, accepts); value != nil {
				d.Items = append(d.Items, value)
			}
		}
		d.Lacking = len(d.Items) < v.Len()
	case yaml.ScalarNode:
		if v.IsText() {
			return readText(v)
		}
		return parseNumber(v)
	default:
		return nil
	}
	return d
}

func verbatimText(v Value) *Node { return &Node{Kind: Text, Pos: v.Pos(), Value: v.node.Value} }

// badDataKey records an error for keys that are not literals: computed keys, and
// keys that YAML made from an expression with a colon.
func badDataKey(v Value, key String) bool {
	open := strings.Contains(key.Value, "${")
	switch {
	case strings.Contains(key.Value, " ? "), open && !strings.Contains(key.Value, "}"):
		value, _ := valueOf(v.text.line(key.Pos.Line))
		v.ErrorAt(key.Pos, "%q is read as a key", key.Value).Hint = "YAML reads \": \" as the end of a key: " + quoteIt(value)
	case open:
		v.ErrorAt(key.Pos, "key %q must be a literal", key.Value).Hint = "for computed keys, make the whole map an expression"
	default:
		return false
	}
	return true
}

// interpolatedText reads a string that may contain ${...}.
func interpolatedText(v Value) *Node {
	d := verbatimText(v)
	if !strings.Contains(v.node.Value, "${") {
		return d
	}
	parts := celText{v, v.text.scalar(v.node)}.split()
	switch {
	case parts == nil:
		return nil
	case len(parts) == 1 && parts[0].Expr == nil:
		d.Value = parts[0].Text
		return d
	}
	return &Node{Kind: Interp, Pos: d.Pos, Parts: parts}
}

var digits = regexp.MustCompile(`^[-+]?[0-9][0-9_]*$`)

// parseNumber reads null, booleans and numbers.
func parseNumber(v Value) *Node {
	d := &Node{Pos: v.Pos(), Written: v.node.Value}
	switch v.node.Tag {
	case "!!null":
		return d
	case "!!bool":
		d.Kind, d.Value = Bool, strings.EqualFold(v.node.Value, "true")
		return d
	case "!!int":
		var i int64
		if v.node.Decode(&i) == nil {
			d.Kind, d.Value = Int, i
			return d
		}
		v.Errorf("%s does not fit into 64 bits", v.node.Value).Hint = "if it is text, quote it"
		return nil
	}
	var f float64
	switch err := v.node.Decode(&f); {
	case err == nil && digits.MatchString(v.node.Value):
		v.Errorf("%s does not fit into 64 bits", v.node.Value).Hint = "if it is text, quote it"
	case err != nil || math.IsInf(f, 0) || math.IsNaN(f):
		v.Errorf("%s is not valid in JSON", v.node.Value).Hint = "if it is text, quote it"
	default:
		d.Kind, d.Value = Float, f
		return d
	}
	return nil
}

// Sentence reads a text that may contain ${...}, or returns nil.
func (v Value) Sentence() *Node {
	if !v.IsTextOf("text") {
		return nil
	}
	return interpolatedText(v)
}

// Computed reports whether a scalar contains ${...}.
func (v Value) Computed() bool { return v.IsText() && strings.Contains(v.node.Value, "${") }

// Alone reports whether a scalar is one ${...} and nothing else, so that it may be
// a map or a list. An unclosed ${ counts as well.
func (v Value) Alone() bool {
	if !v.Computed() {
		return false
	}
	d := v.muted().Data()
	return d == nil || d.Kind == Interp && len(d.Parts) == 1
}
