package source

import (
	"fmt"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// A Value is what a file holds at one position, and the path that leads there.
// It may be missing: a key that the file does not have.
type Value struct {
	*Reader
	text  *text
	node  *yaml.Node
	rule  string
	entry string // like `children[0] "deployment"`
	path  string // like `template.metadata.name`
}

// Errorf records an error at the value, and returns it for a hint to be added.
func (v Value) Errorf(format string, args ...any) *Error {
	return v.ErrorAt(v.Pos(), format, args...)
}

// ErrorAt records an error about the value at another position.
func (v Value) ErrorAt(p Pos, format string, args ...any) *Error {
	message := fmt.Sprintf(format, args...)
	if v.path != "" {
		message = v.path + ": " + message
	}
	if v.entry != "" {
		message = v.entry + ": " + message
	}
	e := NewError(p, v.rule, message, "")
	v.errs = append(v.errs, e)
	return e
}

// Pos returns where the value begins.
func (v Value) Pos() Pos { return v.text.pos(v.node) }

// Entry returns the entry of a list that the value belongs to, as errors have
// it: children[0] "web".
func (v Value) Entry() string { return v.entry }

// under returns the value of a key.
func (v Value) under(key string, n *yaml.Node) Value {
	v.path = joinPath(v.path, key)
	v.node = n
	return v
}

// joinPath appends a key to a path.
func joinPath(path, key string) string {
	switch {
	case !IsPlain(key):
		return path + "[" + strconv.Quote(key) + "]"
	case path == "":
		return key
	}
	return path + "." + key
}

// PathOf returns the path that keys lead along, as people write it.
func PathOf(keys []string) string {
	path := ""
	for _, key := range keys {
		path = joinPath(path, key)
	}
	return path
}

// index returns an item of a list.
func (v Value) index(i int, n *yaml.Node) Value {
	v.path += "[" + strconv.Itoa(i) + "]"
	v.node = n
	return v
}

// Named returns the value as an entry of a list whose name is known: errors
// about what it holds begin with it.
func (v Value) Named(name string) Value {
	v.entry = v.path
	if name != "" {
		v.entry += " " + strconv.Quote(name)
	}
	v.path = ""
	return v
}

// Rule returns the value as the rule of a name, which all errors carry.
func (v Value) Rule(name string) Value {
	v.rule, v.path = name, ""
	return v
}

// muted returns the value for a second reading, whose errors are not recorded.
func (v Value) muted() Value {
	v.Reader = &Reader{}
	return v
}

// IsPlain reports whether a key needs no quotes within a path.
func IsPlain(key string) bool {
	for _, r := range key {
		if r != '-' && r != '_' && !IsIdent(r) {
			return false
		}
	}
	return key != ""
}

// Missing reports whether the file does not have the key.
func (v Value) Missing() bool { return v.node == nil }

// Broken reports whether an error about the value as a whole is recorded.
func (v Value) Broken() bool { return v.node != nil && broken(v.node) }

// IsNull reports whether there is no value, or null.
func (v Value) IsNull() bool { return isNull(v.node) }

// IsMap reports whether the value is a map.
func (v Value) IsMap() bool { return v.node != nil && v.node.Kind == yaml.MappingNode }

// IsList reports whether the value is a list.
func (v Value) IsList() bool { return v.node != nil && v.node.Kind == yaml.SequenceNode }

// IsScalar reports whether the value is neither a map nor a list; null is one.
func (v Value) IsScalar() bool { return v.node != nil && v.node.Kind == yaml.ScalarNode }

// IsText reports whether the value is a string.
func (v Value) IsText() bool { return v.IsScalar() && isText(v.node) }

// Len returns how many items a list has, or entries a map.
func (v Value) Len() int {
	switch {
	case v.IsMap():
		return len(v.node.Content) / 2
	case v.IsList():
		return len(v.node.Content)
	}
	return 0
}

// Describe returns the shape of the value as an author would call it.
func (v Value) Describe() string { return describe(v.node) }

// Scalar returns the characters of a scalar, unchecked, or "".
func (v Value) Scalar() string {
	if !v.IsScalar() {
		return ""
	}
	return v.node.Value
}

func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a map"
	case yaml.SequenceNode:
		return "a list"
	}
	switch n.Tag {
	case "!!null":
		if n.Value == "" {
			return "nothing"
		}
		return "null"
	case "!!bool":
		return "a boolean"
	case "!!int", "!!float":
		return "a number"
	}
	return "a string"
}

func isNull(n *yaml.Node) bool {
	return n == nil || n.Kind == yaml.ScalarNode && n.Tag == "!!null"
}

// isText reports whether a scalar is a string. Dates are: Kubernetes' JSON has
// no other form for them.
func isText(n *yaml.Node) bool {
	switch n.Tag {
	case "!!null", "!!bool", "!!int", "!!float":
		return false
	}
	return true
}
