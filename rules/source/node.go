package source

import (
	"iter"
	"math"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A String is a literal string of a file and its position.
type String struct {
	Value string
	Pos   Pos
}

// A NodeKind is the shape of a Node.
type NodeKind int

// The kinds of Node.
const (
	Null   NodeKind = iota
	Bool            // Value is a bool
	Int             // Value is an int64
	Float           // Value is a float64
	Text            // Value is a string without any ${...}
	Interp          // Parts: a string with at least one ${...}
	List            // Items
	Map             // Fields, in the order of the file
)

// A Node is data with ${CEL} expressions.
type Node struct {
	Kind  NodeKind
	Pos   Pos
	Value any
	// Written is a number, boolean or null as the file has it; "" if nothing is
	// written, and for other values.
	Written string
	Parts   []Part
	Items   []*Node
	Fields  []Field
	// Lacking reports that parts of the map or list could not be read.
	Lacking bool
}

// A Field is one entry of a map; keys are always literal.
type Field struct {
	Key   String
	Value *Node
}

// A Part of an interpolated string is either literal text or an expression.
// An Interp node with a single Expr part keeps the expression's type; with
// more parts the result is a string.
type Part struct {
	Text string
	Expr *Expr // nil for literal text
}

// At returns the value under the keys, or nil.
func (n *Node) At(keys ...string) *Node {
	for _, key := range keys {
		if n == nil {
			return nil
		}
		i := slices.IndexFunc(n.Fields, func(f Field) bool { return f.Key.Value == key })
		if i < 0 {
			return nil
		}
		n = n.Fields[i].Value
	}
	return n
}

// Literal returns the text of a node and its position. The text is "" if the node
// is not one.
func (n *Node) Literal() String {
	if n == nil {
		return String{}
	}
	s, _ := n.Value.(string)
	return String{Value: s, Pos: n.Pos}
}

// Padded reports whether the node is one expression with nothing but white space around
// it, as in a block text that ends in a line break.
func (n *Node) Padded() bool {
	expressions := 0
	for _, p := range n.Parts {
		switch {
		case p.Expr != nil:
			expressions++
		case strings.TrimSpace(p.Text) != "":
			return false
		}
	}
	return expressions == 1 && len(n.Parts) > 1
}

// Expressions iterates over the expressions in a node.
func (n *Node) Expressions() iter.Seq[*Expr] {
	return func(yield func(*Expr) bool) { n.eachExpression(yield) }
}

func (n *Node) eachExpression(yield func(*Expr) bool) bool {
	if n == nil {
		return true
	}
	for _, p := range n.Parts {
		if p.Expr != nil && !yield(p.Expr) {
			return false
		}
	}
	for _, item := range n.Items {
		if !item.eachExpression(yield) {
			return false
		}
	}
	for _, f := range n.Fields {
		if !f.Value.eachExpression(yield) {
			return false
		}
	}
	return true
}

// Plain returns data without expressions as native values, as a JSON decoder does.
func (n *Node) Plain() any {
	switch n.Kind {
	case Map:
		m := make(map[string]any, len(n.Fields))
		for _, f := range n.Fields {
			m[f.Key.Value] = f.Value.Plain()
		}
		return m
	case List:
		list := make([]any, len(n.Items))
		for i, item := range n.Items {
			list[i] = item.Plain()
		}
		return list
	}
	return n.Value
}

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
