package syntax

import (
	"slices"
	"strings"

	"reconcel/rules/source"
)

var (
	patchShape = source.Shape{
		Keys: []source.Key{{Name: "metadata", Value: patchMetadataShape.Schema(),
			Doc: "Labels and annotations of the primary."}},
		Refused: []string{"apiVersion", "kind", "status"},
		Others:  anything,
		More:    source.Schema{MinProperties: 1},
	}
	patchMetadataShape = source.Shape{
		Keys: []source.Key{
			{Name: "labels", Value: marksData, Doc: "Labels to set. Others stay unchanged."},
			{Name: "annotations", Value: marksData, Doc: "Annotations to set. Others stay unchanged."},
		},
		More: source.Schema{MinProperties: 1},
	}
)

// readPatch reads the content to merge into the primary itself. It omits fields
// that a patch must not have.
func readPatch(v source.Value) *source.Node {
	if v.Missing() || v.Broken() {
		return nil
	}
	if !v.IsMap() {
		v.WrongShape("a map")
		return nil
	}
	if v.Len() == 0 {
		v.Errorf("is empty").Hint = "write what to merge into the object, or remove the key"
		return nil
	}
	d := v.Data()
	d.Fields = slices.DeleteFunc(d.Fields, func(f source.Field) bool { return !isPatchable(v, f.Key) })
	return d
}

// isPatchable reports whether a field may be patched, and records an error if not.
func isPatchable(v source.Value, key source.String) bool {
	switch key.Value {
	case "apiVersion", "kind":
		v.ErrorAt(key.Pos, "%s cannot be patched: it identifies the object", key.Value).Hint = "remove it"
	case "status":
		v.ErrorAt(key.Pos, "status cannot be patched").Hint = "use status: of the rule"
	case "labels", "annotations":
		v.ErrorAt(key.Pos, "%s is a field of metadata", key.Value).Hint = "write metadata: {" + key.Value + ": ...}"
	case "metadata":
		before := v.Reader.Count()
		checkPatchMetadata(v.Peek("metadata"))
		return v.Reader.Count() == before
	default:
		if nested := source.Nested(key.Value); nested != "" { // No object has such a field.
			v.ErrorAt(key.Pos, "%q is one key, not a path", key.Value).Hint = "write " + nested
			return false
		}
		return true
	}
	return false
}

func checkPatchMetadata(v source.Value) {
	const expected = "a map with labels or annotations"
	switch {
	case !v.IsMap():
		v.WrongShape(expected)
		return
	case v.Len() == 0:
		v.Errorf("expected %s, got an empty one", expected)
	}
	for _, e := range v.PeekEntries() {
		if patchMetadataShape.Find(e.Key.Value) != nil {
			checkMarks(e.Value)
			continue
		}
		err := v.ErrorAt(e.Key.Pos, "%s cannot be patched: of metadata, only labels and annotations can", e.Key.Value)
		if first, _, _ := strings.Cut(e.Key.Value, "."); patchMetadataShape.Find(first) != nil {
			err.Hint = "write " + source.Nested(e.Key.Value)
		} else {
			err.Hint = source.Suggest(e.Key.Value, patchMetadataShape.Names())
		}
	}
}
