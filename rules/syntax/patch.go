package syntax

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

var (
	patchShape = shape{
		keys:    []key{{name: "metadata", value: mapOf(&patchMetadataShape), doc: "Labels and annotations of the primary."}},
		refused: []string{"apiVersion", "kind", "status"},
		others:  anything,
		more:    schema{MinProperties: 1},
	}
	patchMetadataShape = shape{
		keys: []key{
			{name: "labels", value: marksData, doc: "Labels to set. Others stay as they are."},
			{name: "annotations", value: marksData, doc: "Annotations to set. Others stay as they are."},
		},
		more: schema{MinProperties: 1},
	}
)

// readPatch reads what is merged into the primary itself. What it must not
// hold is taken out.
func (s scope) readPatch(n *yaml.Node) *Node {
	if n == nil || broken(n) {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		s.wrongShape(n, "a map")
		return nil
	}
	if len(n.Content) == 0 {
		s.errorf(s.text.pos(n), "is empty").Hint = "write what to merge into the object, or remove the key"
		return nil
	}
	d := s.data(n)
	d.Fields = slices.DeleteFunc(d.Fields, func(f Field) bool { return !s.isPatch(n, f) })
	return d
}

// isPatch tells whether a field may be patched, and complains if not.
func (s scope) isPatch(n *yaml.Node, f Field) bool {
	switch f.Key.Value {
	case "apiVersion", "kind":
		s.errorf(f.Key.Pos, "%s cannot be patched: it says what the object is", f.Key.Value).Hint = "remove it"
	case "status":
		s.errorf(f.Key.Pos, "status cannot be patched").Hint = "use status: of the rule"
	case "labels", "annotations":
		s.errorf(f.Key.Pos, "%s is a field of metadata", f.Key.Value).Hint = "write metadata: {" + f.Key.Value + ": ...}"
	case "metadata":
		before := len(s.errs)
		for _, e := range s.muted().entries(n) {
			if e.key.Value == "metadata" {
				s.key("metadata").checkPatchMetadata(e.value)
			}
		}
		return len(s.errs) == before
	default:
		if nested := Nested(f.Key.Value); nested != "" { // No object has such a field.
			s.errorf(f.Key.Pos, "%q is one key, not a path", f.Key.Value).Hint = "write " + nested
			return false
		}
		return true
	}
	return false
}

func (s scope) checkPatchMetadata(n *yaml.Node) {
	const expected = "a map with labels or annotations"
	switch {
	case n.Kind != yaml.MappingNode:
		s.wrongShape(n, expected)
		return
	case len(n.Content) == 0:
		s.errorf(s.text.pos(n), "expected %s, got an empty one", expected)
	}
	for _, e := range s.muted().entries(n) {
		if patchMetadataShape.has(e.key.Value) {
			s.key(e.key.Value).checkMarks(e.value)
			continue
		}
		err := s.errorf(e.key.Pos, "%s cannot be patched: of metadata, only labels and annotations can", e.key.Value)
		if first, _, _ := strings.Cut(e.key.Value, "."); patchMetadataShape.has(first) {
			err.Hint = "write " + Nested(e.key.Value)
		} else {
			err.Hint = suggest(e.key.Value, patchMetadataShape.names())
		}
	}
}
