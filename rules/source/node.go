package source

import (
	"iter"
	"slices"
	"strings"
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
