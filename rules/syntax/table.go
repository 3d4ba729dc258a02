package syntax

import (
	"cmp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A shape says which keys a map may have. Maps are read by it, and their JSON
// Schema is made from it.
type shape struct {
	keys  []key
	wrong map[string]wrongKey

	doc     string   // what such a map is, where it is an item of a list
	refused []string // that a map with others must not have
	others  *schema  // what stands under all other keys; nil: there are none
	more    schema   // how the keys go together
}

// A key is one that a map may have.
type key struct {
	name     string
	doc      string  // for people: a sentence or two, with `code` in backticks
	value    *schema // what may stand under it
	required bool
	fallback string // what holds without the key, if it can be written
}

// names returns the keys by name.
func (sh *shape) names() []string {
	names := make([]string, len(sh.keys))
	for i := range sh.keys {
		names[i] = sh.keys[i].name
	}
	return names
}

// has tells whether a map of this shape may have a key.
func (sh *shape) has(name string) bool {
	return slices.ContainsFunc(sh.keys, func(k key) bool { return k.name == name })
}

// A wrongKey is one that people write although the map has no such key.
type wrongKey struct {
	hint  string
	means string // the key that it stands for, or ""
}

// meant returns the key of the shape that was meant by another one, or "".
func (sh *shape) meant(name string) string {
	if wrong, known := sh.wrong[name]; known {
		return wrong.means
	}
	return Nearest(name, sh.names())
}

// written returns the keys that stand in a map, under the names that were
// meant: a misspelt key is not a missing one.
func (sh *shape) written(n *yaml.Node) map[string]*yaml.Node {
	keys := make(map[string]*yaml.Node)
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i].Value
		if !sh.has(name) {
			name = sh.meant(name)
		}
		if keys[name] == nil {
			keys[name] = n.Content[i]
		}
	}
	return keys
}

// A table is a map of the language, with what stands under each of its keys.
type table map[string]*yaml.Node

// table reads a map of the given shape. It returns nil for anything else.
func (s scope) table(n *yaml.Node, sh *shape) table {
	if n.Kind != yaml.MappingNode {
		s.wrongShape(n, "a map")
		return nil
	}
	t := make(table)
	var meant []string
	for _, e := range s.entries(n) {
		name := e.key.Value
		if sh.has(name) {
			t[name] = e.value
			continue
		}
		s.errorf(e.key.Pos, "unknown key %q", name).Hint = cmp.Or(sh.wrong[name].hint, hintKeys(name, sh.names()))
		meant = append(meant, sh.meant(name))
	}
	for i := range sh.keys {
		// A key that is there but misspelt is one mistake, not two.
		if k := &sh.keys[i]; k.required && t[k.name] == nil && !slices.Contains(meant, k.name) {
			s.errorf(s.text.pos(n), "missing %s", k.name)
		}
	}
	return t
}

// hintKeys names the key that was meant, or all there are.
func hintKeys(name string, keys []string) string {
	if hint := suggest(name, keys); hint != "" {
		return hint
	}
	return "known here: " + strings.Join(keys, ", ")
}

// An entry is a key of any map, and its value.
type entry struct {
	key   String
	value *yaml.Node
}

// entries returns the entries of a map, each key once.
func (s scope) entries(n *yaml.Node) []entry {
	var entries []entry
	first := make(map[string]Pos)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		p := s.text.pos(key)
		if broken(key) {
			continue
		}
		if key.Kind != yaml.ScalarNode || key.Tag == "!!null" {
			s.badKey(key, p)
			continue
		}
		if at, twice := first[key.Value]; twice {
			s.errorf(p, "duplicate key %q, first at %s", key.Value, at)
			continue
		}
		first[key.Value] = p
		if value.Kind == yaml.ScalarNode && value.Tag == "!!null" && value.Value == "" {
			// What is not there is best shown at its key.
			value.Line, value.Column = key.Line, key.Column
		}
		entries = append(entries, entry{String{key.Value, p}, value})
	}
	return entries
}

func (s scope) badKey(key *yaml.Node, p Pos) {
	e := s.errorf(p, "%s cannot be a key", describe(key))
	if line := []rune(s.text.line(p.Line)); key.Kind == yaml.MappingNode && p.Column > 1 && line[p.Column-2] == '{' {
		e.Hint = "there are no {{ }} templates here: a value is written ${...}"
	}
}

// list returns the items of a list; nothing is an empty list.
func (s scope) list(n *yaml.Node) []*yaml.Node {
	if isNull(n) {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		s.wrongShape(n, "a list")
		return nil
	}
	return n.Content
}

// listsOfText are the keys of lists whose items are text.
var listsOfText = []string{"after", "namespaces", "ignoreFields", "values"}

// wrongShape complains that n is not what was expected.
func (s scope) wrongShape(n *yaml.Node, expected string) {
	if broken(n) {
		return
	}
	e := s.errorf(s.text.pos(n), "expected %s, got %s", expected, describe(n))
	switch {
	case expected == "a list" && n.Kind == yaml.MappingNode:
		e.Hint = "begin each item with \"- \""
	case expected == "a list" && n.Kind == yaml.ScalarNode && !computed(n) && slices.Contains(listsOfText, s.path[strings.LastIndexByte(s.path, '.')+1:]):
		e.Hint = "write [" + quoted(n.Value) + "]"
	case strings.HasPrefix(expected, "a map") && n.Kind == yaml.SequenceNode && n.Style&yaml.FlowStyle == 0:
		e.Hint = "write its keys without \"- \""
	}
}

// literal returns a string that stands in the file as it is, and whether it
// is one.
func (s scope) literal(n *yaml.Node) (String, bool) {
	if n == nil || broken(n) {
		return String{}, false
	}
	p := s.text.pos(n)
	if n.Kind != yaml.ScalarNode || isNull(n) {
		s.wrongShape(n, "a string")
		return String{}, false
	}
	switch {
	case !isText(n):
		s.errorf(p, "expected a string, got %s", describe(n)).Hint = "write " + quoted(n.Value)
	case strings.Contains(n.Value, "${"):
		s.errorf(p, "must be a literal, ${...} is not possible here")
	case n.Value == "":
		s.errorf(p, "is empty")
	default:
		return String{n.Value, p}, true
	}
	return String{}, false
}

// oneOf returns a literal that must be one of a few values.
func (s scope) oneOf(n *yaml.Node, cs choices) String {
	values := cs.texts()
	if n != nil && (n.Kind != yaml.ScalarNode || !isText(n)) {
		s.wrongShape(n, either(values))
		return String{}
	}
	str, ok := s.literal(n)
	if !ok || slices.Contains(values, str.Value) {
		return str
	}
	s.errorf(str.Pos, "expected %s, got %q", either(values), str.Value).Hint = suggest(str.Value, values)
	return String{}
}

// either lists values in words.
func either(values []string) string {
	last := len(values) - 1
	if last < 1 {
		return strings.Join(values, "")
	}
	return strings.Join(values[:last], ", ") + " or " + values[last]
}
