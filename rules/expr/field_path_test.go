package expr

import (
	"slices"
	"testing"
)

// TestFieldPaths compares a read of fields with CEL, which evaluates the twin of each program (see compile),
// for values that exist, are null, are missing and have no fields.
func TestFieldPaths(t *testing.T) {
	spec := map[string]any{"text": "t", "number": int64(3), "double": 1.5, "yes": true, "null": nil,
		"list": []any{"a"}, "map": map[string]any{"a-b": "x", "null": nil, "inner": map[string]any{"deep": "d"}}}
	vars := variables{"self": map[string]any{"metadata": map[string]any{"name": "web"}, "spec": spec}}
	known, direct := shapes(), 0
	for _, first := range []string{".spec", ".?spec", ".spec[\"map\"]", ".spec.map", ".spec.?map", ".?spec.orValue({})",
		".nope", ".?nope", ".metadata"} {
		for _, second := range []string{".text", ".?text", ".number", ".double", ".yes", ".null", ".?null", ".list", ".?list", ".map",
			".?map", ".name", ".?name", ".nope", ".?nope", ".inner", ".?inner", ".`a-b`", ".?`a-b`", ".text.size()"} {
			for _, last := range []string{"", ".deep", ".?deep", ".orValue(\"other\")", ".?deep.orValue(1)", ".hasValue()",
				".orValue({}).?deep", ".orValue({}).deep", ".?deep.orValue(null)"} {
				p, err := tryCompile("self"+first+second+last, known)
				if err != nil {
					continue // No expression: text has no fields, or orValue() needs an optional.
				}
				if p.path != nil {
					direct++
				}
				eval(t, p, vars)
			}
		}
	}
	if direct < 300 {
		t.Errorf("%d of the expressions are paths", direct)
	}
	if p := compile(t, "self.spec.map.inner.deep", known); p.path == nil || !slices.Equal(p.path.fields,
		[]string{"spec", "map", "inner", "deep"}) {
		t.Errorf("the path of self.spec.map.inner.deep is %v", p.path)
	}
	for _, src := range []string{"has(self.spec.text)", "self", "self.spec.?text", "deployment.spec.text", "[self].map(self, self.spec)"} {
		if p := compile(t, src, known); p.path != nil {
			t.Errorf("%s is a path", src)
		}
	}
}
