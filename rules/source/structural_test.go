package source

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestStructural(t *testing.T) {
	untyped := map[string]any{"nullable": true, preserveUnknown: true}
	text := map[string]any{"nullable": true, "type": "string"}
	shape := &Shape{Keys: []Key{{Name: "a", Value: FilledText, Required: true, Doc: "A `text`."}}, Refused: []string{"b"}}
	fields := map[string]any{"a": map[string]any{"nullable": true, "type": "string", "description": "A text."}}
	for _, c := range []struct {
		name string
		s    *Schema
		want map[string]any
	}{
		{"a text without its restrictions", &Schema{Type: Types{"string"}, Pattern: "^a$", MinLength: 2}, text},
		{"a text or nothing", &Schema{Type: Types{"string", "null"}}, text},
		{"a text or a number", &Schema{Type: Types{"string", "integer", "null"}},
			map[string]any{"nullable": true, preserveUnknown: true, "description": "Its type is integer or string."}},
		{"one of several texts", EitherOf(FilledText, DurationText), text},
		{"a text or anything", EitherOf(FilledText, &Schema{}), untyped},
		{"anything", &Schema{}, untyped},
		{"a map with any keys", AnyMap, map[string]any{"nullable": true, "type": "object", preserveUnknown: true}},
		{"any list", AnyList, map[string]any{"nullable": true, "type": "array", "items": untyped}},
		{"a map of a shape", shape.Schema(),
			map[string]any{"nullable": true, "type": "object", preserveUnknown: true, "properties": fields}},
		{"a map of a shape, or a list of them", OneOrMany(shape.Schema()),
			map[string]any{"nullable": true, preserveUnknown: true, "properties": fields,
				"description": "Its type is array or object."}},
		{"a choice", Choices{{Text: "x", Doc: "To `x`."}, {Text: "y", Doc: "To y."}}.Schema(),
			map[string]any{"nullable": true, "type": "string", "description": "x: To x. y: To y."}},
	} {
		if diff := cmp.Diff(c.want, c.s.Structural()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
