package syntax

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxName is the longest a DNS label, and so a label value, may be.
const maxName = 63

func isIdent(r rune) bool {
	return r == '_' || r >= '0' && r <= '9' || isLetter(r)
}

func isLetter(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// names are those that the expressions of a rule may use.
type names struct {
	taken     map[string]Pos
	iterators []iterating
	lost      []string
	nameless  bool
}

// lose notes the names in a part of a rule that is not read: the keys of a map,
// or what the items of a list are called.
func (names *names) lose(n *yaml.Node) {
	if broken(n) {
		names.nameless = true
	}
	for i, item := range n.Content {
		switch {
		case n.Kind == yaml.MappingNode && i%2 == 0:
			names.lost = append(names.lost, scalarText(item))
		case n.Kind == yaml.SequenceNode:
			id := childID(item)
			names.lost = append(names.lost, id)
			names.nameless = names.nameless || id == ""
		}
	}
}

// misname notes a name that is none: what CEL makes of my-name are two.
func (names *names) misname(name string) {
	names.lost = append(names.lost, strings.FieldsFunc(name, func(r rune) bool { return !isIdent(r) })...)
}

// reserved says why a word cannot be the name of a value in CEL. A type's
// name would win over a variable's in places, so it is as bad as a keyword.
var reserved = func() map[string]string {
	words := make(map[string]string)
	for why, list := range map[string]string{
		"a reserved word of CEL": "true false null in as break const continue else for function if import let loop " +
			"package namespace return var void while",
		"the name of a CEL type": "int uint double bool string bytes list map type dyn null_type timestamp duration " +
			"optional_type google",
		"a name of reconcel's own": "self child each",
	} {
		for word := range strings.FieldsSeq(list) {
			words[word] = why
		}
	}
	return words
}()

// identifier says why a name cannot stand for a value in expressions, or "".
func identifier(name string) string {
	switch {
	case reserved[name] != "":
		return "is " + reserved[name]
	case len(name) > maxName:
		return "is longer than 63 characters"
	case !isLetter(rune(name[0])):
		return "must begin with a-z or A-Z"
	case strings.HasSuffix(name, "_"):
		return "must not end in _"
	}
	for _, r := range name {
		if !isIdent(r) {
			return "may hold only a-z, A-Z, 0-9 and _"
		}
	}
	return ""
}

// IsName tells whether a name can stand for a value in expressions.
func IsName(name string) bool { return name != "" && identifier(name) == "" }

// suggest returns "did you mean 'x'?" for the nearest of the options, or "".
func suggest(word string, options []string) string {
	if option := Nearest(word, options); option != "" {
		return "did you mean '" + option + "'?"
	}
	return ""
}
