package source

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// listsOfText are the keys of lists whose items are text.
var listsOfText = []string{"after", "namespaces", "ignoreFields", "values"}

// WrongShape records an error for a value of the wrong shape.
func (v Value) WrongShape(expected string) {
	if v.Broken() {
		return
	}
	e := v.Errorf("expected %s, got %s", expected, v.Describe())
	switch {
	case expected == "a list" && v.IsMap():
		e.Hint = "begin each item with \"- \""
	case expected == "a list" && v.IsScalar() && !v.Computed() &&
		slices.Contains(listsOfText, v.path[strings.LastIndexByte(v.path, '.')+1:]):
		e.Hint = "write [" + Quoted(v.node.Value) + "]"
	case strings.HasPrefix(expected, "a map") && v.IsList() && v.node.Style&yaml.FlowStyle == 0:
		e.Hint = "write its keys without \"- \""
	}
}

// IsTextOf reports whether the value is text, and records an error if it is something
// else. noun names the text in the error.
func (v Value) IsTextOf(noun string) bool {
	switch {
	case v.Missing() || v.Broken():
	case !v.IsScalar() || v.IsNull():
		v.WrongShape(noun)
	case !v.IsText():
		v.Errorf("expected %s, got %s", noun, v.Describe()).Hint = "write " + Quoted(v.node.Value)
	default:
		return true
	}
	return false
}

// Literal returns a string without ${...}, and whether the value is one.
func (v Value) Literal() (String, bool) {
	switch {
	case !v.IsTextOf("a string"):
	case strings.Contains(v.node.Value, "${"):
		v.Errorf("must be a literal, ${...} is not allowed here")
	case v.node.Value == "":
		v.Errorf("is empty")
	default:
		return String{v.node.Value, v.Pos()}, true
	}
	return String{}, false
}

// OneOf returns a literal that must be one of a few strings.
func (v Value) OneOf(cs Choices) String { return oneOf(v, cs.texts()) }

func oneOf(v Value, texts []string) String {
	if !v.Missing() && !v.IsText() {
		v.WrongShape(joinOr(texts))
		return String{}
	}
	s, ok := v.Literal()
	if !ok || slices.Contains(texts, s.Value) {
		return s
	}
	v.Errorf("expected %s, got %q", joinOr(texts), s.Value).Hint = Suggest(s.Value, texts)
	return String{}
}

// joinOr joins strings with commas and "or".
func joinOr(texts []string) string {
	last := len(texts) - 1
	if last < 1 {
		return strings.Join(texts, "")
	}
	return strings.Join(texts[:last], ", ") + " or " + texts[last]
}
