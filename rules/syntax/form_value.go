package syntax

import "go.yaml.in/yaml/v3"

// A Value says what may stand under a key of a Form, or in a list there.
type Value struct {
	schema *schema
	fits   func(*yaml.Node) bool // whether a node is meant to be such a value
	name   string                // as messages have it: "a string"
	get    func(scope, *yaml.Node) *Node
}

// read returns the value that a node holds, or nil with a complaint.
func (v Value) read(s scope, n *yaml.Node) *Node {
	switch {
	case broken(n):
		return nil
	case !v.fits(n):
		s.wrongShape(n, v.name)
		return nil
	}
	return v.get(s, n)
}

func isScalar(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && !isNull(n) }

func ofKind(kind yaml.Kind) func(*yaml.Node) bool {
	return func(n *yaml.Node) bool { return n.Kind == kind }
}

// scalarOf is a value of one scalar type, by YAML's tag for it.
func scalarOf(name, tag string, s *schema) Value {
	return Value{
		schema: s,
		name:   name,
		fits:   func(n *yaml.Node) bool { return isScalar(n) && (n.Tag == tag || tag == "!!str" && isText(n)) },
		get:    scope.asItIs,
	}
}

// TextValue is a string that is not empty.
func TextValue() Value {
	v := scalarOf("a string", "!!str", &schema{Type: types{"string"}, MinLength: 1})
	v.get = func(s scope, n *yaml.Node) *Node {
		if n.Value == "" {
			s.errorf(s.text.pos(n), "is empty")
			return nil
		}
		return s.asItIs(n)
	}
	return v
}

// BoolValue is true or false.
func BoolValue() Value { return scalarOf("true or false", "!!bool", &schema{Type: types{"boolean"}}) }

// NumberValue is a whole number that is not smaller than the least.
func NumberValue(least int) Value {
	v := scalarOf("a whole number", "!!int", &schema{Type: types{"integer"}, Minimum: &least})
	v.get = func(s scope, n *yaml.Node) *Node {
		d := s.asItIs(n)
		if d != nil && d.Value.(int64) < int64(least) {
			s.errorf(d.Pos, "must be at least %d, got %d", least, d.Value)
			return nil
		}
		return d
	}
	return v
}

// DurationValue is text like 90s or 1h30m.
func DurationValue() Value {
	return Value{
		schema: durationText, name: "a duration", fits: isScalar,
		get: func(s scope, n *yaml.Node) *Node {
			if d := s.duration(n, 1); d.Value == 0 {
				return nil
			}
			return s.asItIs(n)
		},
	}
}

// OneOf is one of a few strings.
func OneOf(texts ...string) Value {
	var options choices
	for _, text := range texts {
		options = append(options, choice{text: text})
	}
	return Value{
		schema: &schema{Type: types{"string"}, Enum: texts}, name: either(texts), fits: isScalar,
		get: func(s scope, n *yaml.Node) *Node {
			if s.oneOf(n, options).Value == "" {
				return nil
			}
			return s.asItIs(n)
		},
	}
}

// NullValue is a key after which there is nothing, or null.
func NullValue() Value {
	return Value{schema: &schema{Type: types{"null"}}, name: "null", fits: isNull, get: scope.asItIs}
}

// MapValue is a map in which there may be anything.
func MapValue() Value {
	return Value{schema: &schema{Type: types{"object"}}, name: "a map", fits: ofKind(yaml.MappingNode), get: scope.asItIs}
}

// ListValue is a list in which there may be anything.
func ListValue() Value {
	return Value{schema: &schema{Type: types{"array"}}, name: "a list", fits: ofKind(yaml.SequenceNode), get: scope.asItIs}
}

// FormValue is a map of a form.
func FormValue(f *Form) Value {
	return Value{schema: mapOf(&f.shape), name: "a map", fits: ofKind(yaml.MappingNode), get: f.read}
}

// EntriesOf is a map with any keys, and values of one sort.
func EntriesOf(v Value) Value {
	return Value{
		schema: &schema{Type: types{"object"}, Others: v.schema}, name: "a map", fits: ofKind(yaml.MappingNode),
		get: func(s scope, n *yaml.Node) *Node {
			d := &Node{Kind: Map, Pos: s.text.pos(n)}
			for _, e := range s.entries(n) {
				if value := v.read(s.key(e.key.Value), e.value); value != nil {
					d.Fields = append(d.Fields, Field{e.key, value})
				}
			}
			return d
		},
	}
}

// ListOf is a list of values of one sort. Complaints about maps in it that have
// a name carry that.
func ListOf(v Value) Value {
	return Value{
		schema: &schema{Type: types{"array"}, Items: v.schema}, name: "a list", fits: ofKind(yaml.SequenceNode),
		get: func(s scope, n *yaml.Node) *Node {
			d := &Node{Kind: List, Pos: s.text.pos(n)}
			for i, item := range n.Content {
				at := s.index(i)
				if name := nameOf(item); name != "" && item.Kind == yaml.MappingNode {
					at = at.named(name)
				}
				if value := v.read(at, item); value != nil {
					d.Items = append(d.Items, value)
				}
			}
			return d
		},
	}
}

// EitherOf is a value of one of several sorts, which must differ in shape.
func EitherOf(values ...Value) Value {
	names := make([]string, len(values))
	s := &schema{}
	for i, v := range values {
		names[i] = v.name
		s.AnyOf = append(s.AnyOf, v.schema)
	}
	meant := func(n *yaml.Node) *Value {
		for i := range values {
			if values[i].fits(n) {
				return &values[i]
			}
		}
		return nil
	}
	return Value{
		schema: s, name: either(names),
		fits: func(n *yaml.Node) bool { return meant(n) != nil },
		get:  func(s scope, n *yaml.Node) *Node { return meant(n).get(s, n) },
	}
}

// OneOrMany is a value or a list of them. The list is nodes of kind List in both
// cases.
func OneOrMany(v Value) Value {
	list := ListOf(v)
	both := EitherOf(v, list)
	both.get = func(s scope, n *yaml.Node) *Node {
		if n.Kind == yaml.SequenceNode {
			return list.get(s, n)
		}
		one := v.get(s, n)
		if one == nil {
			return nil
		}
		return &Node{Kind: List, Pos: one.Pos, Items: []*Node{one}}
	}
	return both
}

// asItIs reads data in which ${...} means nothing.
func (s scope) asItIs(n *yaml.Node) *Node {
	p := s.text.pos(n)
	switch {
	case n.Kind == yaml.MappingNode:
		d := &Node{Kind: Map, Pos: p}
		for _, e := range s.entries(n) {
			if value := s.key(e.key.Value).asItIs(e.value); value != nil {
				d.Fields = append(d.Fields, Field{e.key, value})
			}
		}
		return d
	case n.Kind == yaml.SequenceNode:
		d := &Node{Kind: List, Pos: p}
		for i, item := range n.Content {
			if value := s.index(i).asItIs(item); value != nil {
				d.Items = append(d.Items, value)
			}
		}
		return d
	case n.Kind != yaml.ScalarNode:
		return nil
	case isText(n):
		return &Node{Kind: Text, Pos: p, Value: n.Value}
	}
	return s.plain(n)
}

// Plain returns data that holds no expressions, as JSON has it.
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
