package syntax

import (
	"fmt"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// A parser collects what the sources say.
type parser struct {
	file  *File
	errs  []*Error
	names map[string]Pos // of rules
}

// A scope is where in the rules the reader is: it prefixes complaints with
// the rule, the entry and the path within it.
type scope struct {
	*parser
	text  *text
	rule  string
	entry string // like `children[0] "deployment"`
	path  string // like `template.metadata.name`
}

// errorf records a complaint, and returns it for a hint to be added.
func (s scope) errorf(p Pos, format string, args ...any) *Error {
	message := fmt.Sprintf(format, args...)
	if s.path != "" {
		message = s.path + ": " + message
	}
	if s.entry != "" {
		message = s.entry + ": " + message
	}
	e := NewError(p, s.rule, message, "")
	s.errs = append(s.errs, e)
	return e
}

// key returns the scope of the value of a key.
func (s scope) key(k string) scope {
	switch {
	case !isPlain(k):
		s.path += "[" + strconv.Quote(k) + "]"
	case s.path == "":
		s.path = k
	default:
		s.path += "." + k
	}
	return s
}

// index returns the scope of an item of a list.
func (s scope) index(i int) scope {
	s.path += "[" + strconv.Itoa(i) + "]"
	return s
}

// named returns the scope of the entry that the path leads to, once its name
// is known.
func (s scope) named(name string) scope {
	s.entry = s.path
	if name != "" {
		s.entry += " " + strconv.Quote(name)
	}
	s.path = ""
	return s
}

func isPlain(k string) bool {
	for _, r := range k {
		if r != '-' && r != '_' && !isIdent(r) {
			return false
		}
	}
	return k != ""
}

// describe names the shape of a node as an author would.
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
