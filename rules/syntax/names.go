package syntax

import (
	"strings"

	"reconcel/rules/source"
)

// maxName is the maximum length of a DNS label, and so of a label value.
const maxName = 63

// names are the names in scope of the expressions of a rule.
type names struct {
	taken     map[string]source.Pos
	iterators []iterating
	lost      []string
	nameless  bool
}

// readID reads the id of an entry and reserves it. unusable means that the id is
// invalid for a value.
func (names *names) readID(v source.Value) (id source.String, unusable bool) {
	id, ok := v.Literal()
	names.nameless = names.nameless || !ok
	return id, !ok || !names.reserveName(id, v)
}

// reserveName reserves a name for the expressions of a rule if it is valid and free.
func (names *names) reserveName(name source.String, v source.Value) bool {
	if why := invalidName(name.Value); why != "" {
		v.ErrorAt(name.Pos, "%q %s", name.Value, why)
		names.loseWords(name.Value)
		return false
	}
	if at, taken := names.taken[name.Value]; taken {
		v.ErrorAt(name.Pos, "%q is already used, at %s", name.Value, at)
		return false
	}
	names.taken[name.Value] = name.Pos
	return true
}

// loseUnlessList records the names in a value that should be a list but is not.
func (names *names) loseUnlessList(v source.Value) {
	if !v.Missing() && !v.IsList() {
		names.loseNames(v)
	}
}

// loseNames records the names in a part of a rule that is not read: the keys of a map,
// or the ids in a list.
func (names *names) loseNames(v source.Value) {
	names.nameless = names.nameless || v.Broken()
	for key := range v.PeekPairs() {
		names.lost = append(names.lost, key.Scalar())
	}
	for _, item := range v.PeekItems() {
		id := item.Peek("id").Scalar()
		names.lost = append(names.lost, id)
		names.nameless = names.nameless || id == ""
	}
}

// loseWords records the words of an invalid name: CEL reads my-name as two names.
func (names *names) loseWords(name string) {
	names.lost = append(names.lost, strings.FieldsFunc(name, func(r rune) bool { return !source.IsIdent(r) })...)
}

// reserved maps words that are invalid as the name of a value in CEL to the reason.
// In some expressions, the name of a type takes precedence over that of a variable.
var reserved = func() map[string]string {
	words := make(map[string]string)
	for why, list := range map[string]string{
		"a reserved word of CEL": "true false null in as break const continue else for function if import let loop " +
			"package namespace return var void while",
		"the name of a CEL type": "int uint double bool string bytes list map type dyn null_type timestamp duration " +
			"optional_type google",
		"a name reserved for reconcel": "self child each",
	} {
		for word := range strings.FieldsSeq(list) {
			words[word] = why
		}
	}
	return words
}()

// invalidName returns why a name is invalid for a value in expressions, or "".
func invalidName(name string) string {
	switch {
	case reserved[name] != "":
		return "is " + reserved[name]
	case len(name) > maxName:
		return "is longer than 63 characters"
	case !source.IsLetter(rune(name[0])):
		return "must begin with a-z or A-Z"
	case strings.HasSuffix(name, "_"):
		return "must not end in _"
	}
	for _, r := range name {
		if !source.IsIdent(r) {
			return "may contain only a-z, A-Z, 0-9 and _"
		}
	}
	return ""
}

// IsName reports whether a name is valid for a value in expressions.
func IsName(name string) bool { return name != "" && invalidName(name) == "" }
