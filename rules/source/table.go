package source

import (
	"cmp"
	"iter"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A Shape lists the keys that a map may have. It reads maps, and generates their
// JSON Schema.
type Shape struct {
	Doc   string // describes the map as an item of a list
	Keys  []Key
	Wrong map[string]WrongKey

	Refused []string // keys that are forbidden in a map with Others
	Others  *Schema  // the value of all other keys; nil: no other keys
	More    Schema   // dependencies between the keys
}

// A Key is one key that a map may have.
type Key struct {
	Name     string
	Doc      string // for people: a sentence or two, with `code` in backticks
	Value    *Schema
	Required bool
	Default  string // the value without the key, if it can be written
}

// A WrongKey is a common mistake: a key that the map does not have.
type WrongKey struct {
	Hint  string // "": write the correct key
	Means string // the correct key, or ""
}

// Names returns the keys of a map, in the order of the shape.
func (sh *Shape) Names() []string {
	names := make([]string, len(sh.Keys))
	for i := range sh.Keys {
		names[i] = sh.Keys[i].Name
	}
	return names
}

// Find returns a key by its name, or nil.
func (sh *Shape) Find(name string) *Key {
	for i := range sh.Keys {
		if sh.Keys[i].Name == name {
			return &sh.Keys[i]
		}
	}
	return nil
}

// Meant returns the key that the author meant by a wrong one, or "".
func (sh *Shape) Meant(name string) string {
	if wrong, known := sh.Wrong[name]; known {
		return wrong.Means
	}
	return Nearest(name, sh.Names())
}

// hint returns what to write instead of a wrong key.
func (sh *Shape) hint(name string) string {
	wrong := sh.Wrong[name]
	if wrong.Hint == "" && wrong.Means != "" {
		return "write " + wrong.Means
	}
	return cmp.Or(wrong.Hint, HintKeys(name, sh.Names()))
}

// Knows reports whether a key is one of the shape, or a mistake for one.
func (sh *Shape) Knows(name string) bool { return sh.Find(name) != nil || sh.Meant(name) != "" }

// A Table is a map of a known shape.
type Table struct {
	value  Value
	shape  *Shape
	values map[string]*yaml.Node // nil: the value is not a map
	meant  []string              // by unknown keys; "" for those without a hint
}

// Table reads a map of a shape.
func (v Value) Table(sh *Shape) Table {
	t := Table{value: v, shape: sh}
	if !v.IsMap() {
		v.WrongShape("a map")
		return t
	}
	t.values = make(map[string]*yaml.Node)
	eachEntry(v, func(key String, n *yaml.Node) {
		name := key.Value
		if sh.Find(name) != nil {
			t.values[name] = n
			return
		}
		v.ErrorAt(key.Pos, "unknown key %q", name).Hint = sh.hint(name)
		t.meant = append(t.meant, sh.Meant(name))
	})
	for i := range sh.Keys {
		if k := &sh.Keys[i]; k.Required {
			t.Require(k.Name)
		}
	}
	return t
}

// Require records an error if a key is missing.
func (t Table) Require(key string) {
	// A misspelt key is one mistake: do not report it as missing as well.
	if t.values != nil && t.values[key] == nil && !slices.Contains(t.meant, key) {
		t.value.Errorf("missing %s", key)
	}
}

// IsMap reports whether the value is a map at all.
func (t Table) IsMap() bool { return t.values != nil }

// Key returns the value of a key, which may be missing.
func (t Table) Key(name string) Value { return t.value.atKey(name, t.values[name]) }

// Written returns the position of a key, and whether the file has it. Misspelt and
// repeated keys count.
func (t Table) Written(name string) (Pos, bool) {
	for key := range pairsOf(t.value.node) {
		if k := t.shape.Find(key.Value); k != nil && k.Name == name || k == nil && t.shape.Meant(key.Value) == name {
			return t.value.text.pos(key), true
		}
	}
	return Pos{}, false
}

// Unread returns the values of keys that are not in the shape.
func (t Table) Unread() []Value {
	var values []Value
	for key, n := range pairsOf(t.value.node) {
		if t.values[key.Value] != n {
			values = append(values, t.value.atKey(key.Value, n))
		}
	}
	return values
}

// HintKeys suggests the key that the author meant, or lists all keys.
func HintKeys(name string, keys []string) string {
	return cmp.Or(Suggest(name, keys), "known here: "+strings.Join(keys, ", "))
}

// An Entry is a key of any map with its value.
type Entry struct {
	Key   String
	Value Value
}

// Entries returns the entries of a map, each key once. It records errors for
// invalid keys.
func (v Value) Entries() []Entry {
	entries := make([]Entry, 0, v.Len())
	eachEntry(v, func(key String, n *yaml.Node) {
		entries = append(entries, Entry{key, v.atKey(key.Value, n)})
	})
	return entries
}

// eachEntry calls read once for each key of a map.
func eachEntry(v Value, read func(String, *yaml.Node)) {
	first := make(map[string]Pos)
	for key, value := range pairsOf(v.node) {
		p := v.text.pos(key)
		if isBroken(key) {
			continue
		}
		if key.Kind != yaml.ScalarNode || key.Tag == "!!null" {
			badKey(v, key, p)
			continue
		}
		if at, twice := first[key.Value]; twice {
			v.ErrorAt(p, "duplicate key %q, first at %s", key.Value, at)
			continue
		}
		first[key.Value] = p
		showAtKey(value, key)
		read(String{key.Value, p}, value)
	}
}

// showAtKey moves an empty value to the position of its key, where an error is
// easiest to understand.
func showAtKey(value, key *yaml.Node) {
	if value.Kind == yaml.ScalarNode && value.Tag == "!!null" && value.Value == "" {
		value.Line, value.Column = key.Line, key.Column
	}
}

// PeekEntries returns the entries of a map that is also read elsewhere. It records
// no errors.
func (v Value) PeekEntries() []Entry {
	entries := v.muted().Entries()
	for i := range entries {
		entries[i].Value.Reader = v.Reader
	}
	return entries
}

func badKey(v Value, key *yaml.Node, p Pos) {
	e := v.ErrorAt(p, "%s cannot be a key", describeNode(key))
	if line := []rune(v.text.line(p.Line)); key.Kind == yaml.MappingNode && p.Column > 1 && line[p.Column-2] == '{' {
		e.Hint = "{{ }} is not supported: write ${...} for a value"
	}
}

// Peek returns the value of a key without reading the map.
func (v Value) Peek(key string) Value {
	for k, n := range pairsOf(v.node) {
		if k.Kind == yaml.ScalarNode && k.Value == key {
			showAtKey(n, k)
			return v.atKey(key, n)
		}
	}
	return v.atKey(key, nil)
}

// PeekPairs returns the keys and values of a map as written in the file.
func (v Value) PeekPairs() iter.Seq2[Value, Value] {
	return func(yield func(key, value Value) bool) {
		for k, n := range pairsOf(v.node) {
			key := v
			key.node = k
			if !yield(key, v.atKey(k.Value, n)) {
				return
			}
		}
	}
}

// pairsOf returns the nodes of a map, and none of anything else.
func pairsOf(n *yaml.Node) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(key, value *yaml.Node) bool) {
		for i := 0; n != nil && n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i], n.Content[i+1]) {
				return
			}
		}
	}
}

// PeekItems returns the items of a list without reading the list.
func (v Value) PeekItems() []Value {
	var items []Value
	for i := 0; v.IsList() && i < len(v.node.Content); i++ {
		item := v
		item.path += "[" + strconv.Itoa(i) + "]"
		item.node = v.node.Content[i]
		items = append(items, item)
	}
	return items
}

// Items returns the items of a list. A null value is an empty list.
func (v Value) Items() []Value {
	if !v.IsNull() && !v.IsList() {
		v.WrongShape("a list")
	}
	return v.PeekItems()
}
