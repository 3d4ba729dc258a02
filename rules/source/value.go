package source

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A Value is the content of a file at one position, with its path. It is missing if
// the file does not have the key.
type Value struct {
	Reader *Reader // which records its errors
	text   *text
	node   *yaml.Node
	rule   string
	entry  string // like `children[0] "deployment"`
	path   string // like `template.metadata.name`
}

// Errorf records an error at the value. It returns the error, so that the caller
// can add a hint.
func (v Value) Errorf(format string, args ...any) *Error {
	return v.ErrorAt(v.Pos(), format, args...)
}

// ErrorAt is Errorf with another position.
func (v Value) ErrorAt(p Pos, format string, args ...any) *Error {
	message := fmt.Sprintf(format, args...)
	if v.path != "" {
		message = v.path + ": " + message
	}
	if v.entry != "" {
		message = v.entry + ": " + message
	}
	e := NewError(p, v.rule, message, "")
	v.Reader.Add(e)
	return e
}

// Pos returns the start of the value.
func (v Value) Pos() Pos { return v.text.pos(v.node) }

// Entry returns the list entry of the value as errors show it: children[0] "web".
func (v Value) Entry() string { return v.entry }

// Path returns the path of the value within its entry, as errors show it: for[0].
func (v Value) Path() string { return v.path }

// atKey returns the value of a key.
func (v Value) atKey(key string, n *yaml.Node) Value {
	v.path = joinPath(v.path, key)
	v.node = n
	return v
}

func joinPath(path, key string) string {
	switch {
	case !IsPlain(key):
		return path + "[" + strconv.Quote(key) + "]"
	case path == "":
		return key
	}
	return path + "." + key
}

// PathOf returns the path of keys as an author writes it.
func PathOf(keys []string) string {
	path := ""
	for _, key := range keys {
		path = joinPath(path, key)
	}
	return path
}

// Named returns the value as an entry of a list with a name. Errors in the value
// begin with the entry.
func (v Value) Named(name string) Value {
	v.entry = v.path
	if name != "" {
		v.entry += " " + strconv.Quote(name)
	}
	v.path = ""
	return v
}

// Rule returns the value as a rule with a name. All errors in it include the name.
func (v Value) Rule(name string) Value {
	v.rule, v.path = name, ""
	return v
}

// muted returns the value for a second reading that records no errors.
func (v Value) muted() Value {
	v.Reader = &Reader{}
	return v
}

// IsPlain reports whether a key needs no quotes in a path.
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

// Broken reports whether an error about the whole value is recorded.
func (v Value) Broken() bool { return v.node != nil && isBroken(v.node) }

// IsNull reports whether the value is missing or null.
func (v Value) IsNull() bool { return isNull(v.node) }

// IsMap reports whether the value is a map.
func (v Value) IsMap() bool { return v.node != nil && v.node.Kind == yaml.MappingNode }

// IsList reports whether the value is a list.
func (v Value) IsList() bool { return v.node != nil && v.node.Kind == yaml.SequenceNode }

// IsScalar reports whether the value is neither a map nor a list. Null is a scalar.
func (v Value) IsScalar() bool { return v.node != nil && v.node.Kind == yaml.ScalarNode }

// IsText reports whether the value is a string.
func (v Value) IsText() bool { return v.IsScalar() && isText(v.node) }

// Len returns the number of items in a list, or of entries in a map.
func (v Value) Len() int {
	switch {
	case v.IsMap():
		return len(v.node.Content) / 2
	case v.IsList():
		return len(v.node.Content)
	}
	return 0
}

// Describe returns the shape of the value in the words of an author.
func (v Value) Describe() string { return describeNode(v.node) }

// Scalar returns the unchecked text of a scalar, or "".
func (v Value) Scalar() string {
	if !v.IsScalar() {
		return ""
	}
	return v.node.Value
}

func describeNode(n *yaml.Node) string {
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

// isText reports whether a scalar is a string. A date is a string, because
// Kubernetes' JSON has no dates.
func isText(n *yaml.Node) bool {
	switch n.Tag {
	case "!!null", "!!bool", "!!int", "!!float":
		return false
	}
	return true
}

// A Digest identifies what a value means: its data without positions, comments and
// the style in which they are written, and the files that it names.
type Digest [sha256.Size]byte

// Digest returns the digest of the value, and of a map without some of its keys.
func (v Value) Digest(without ...string) (d Digest) {
	rest := *v.node
	if v.IsMap() {
		rest.Content = nil
	}
	for k, n := range pairsOf(v.node) {
		if !slices.Contains(without, k.Value) {
			rest.Content = append(rest.Content, k, n)
		}
	}
	h := sha256.New()
	v.text.digest(h, &rest)
	h.Sum(d[:0])
	return d
}

// Digest returns the digest of an entry of a map.
func (e Entry) Digest() (d Digest) {
	h := sha256.New()
	e.Value.text.digest(h, e.Value.node)
	h.Write([]byte(e.Key.Value))
	h.Sum(d[:0])
	return d
}

// And returns the digest of a value that means something else when others do.
func (d Digest) And(others ...Digest) (all Digest) {
	if len(others) == 0 {
		return d
	}
	h := sha256.New()
	h.Write(d[:])
	for _, other := range others {
		h.Write(other[:])
	}
	h.Sum(all[:0])
	return all
}

// digest writes a node, and the length of each part of it: no two values that mean
// something else have the same bytes.
func (t *text) digest(h hash.Hash, n *yaml.Node) {
	var length [8]byte
	write := func(text string) {
		binary.LittleEndian.PutUint64(length[:], uint64(len(text)))
		h.Write(length[:])
		h.Write([]byte(text))
	}
	write(n.ShortTag())
	write(n.Value)
	binary.LittleEndian.PutUint64(length[:], uint64(len(n.Content)))
	h.Write(length[:])
	for _, item := range n.Content {
		t.digest(h, item)
	}
	for _, b := range t.beside {
		if strings.Contains(n.Value, b.Path) {
			write(b.Text)
			write(b.Wrong)
		}
	}
}
