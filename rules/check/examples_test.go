package check

import (
	"testing"

	"reconcel/rules/schema"
)

// TestExamples finds nothing in valid rules.
func TestExamples(t *testing.T) {
	set := crds(t)
	for _, source := range examples(t) {
		t.Run(source.Name, func(t *testing.T) {
			f := found(t, set, source)
			if got := report(t, f, source); got != "" {
				t.Errorf("found:\n%s", got)
			}
		})
	}
}

// TestWithoutSchemas reports each kind without a schema once, and checks everything else.
func TestWithoutSchemas(t *testing.T) {
	for _, source := range examples(t) {
		t.Run(source.Name, func(t *testing.T) {
			f := found(t, schema.Builtin(), source)
			if len(f.Errors)+len(f.Warnings) > 0 {
				t.Errorf("found:\n%s", report(t, f, source))
			}
			kinds := map[string]bool{}
			for _, note := range f.Notes {
				if kinds[note.Message] || note.Pos.Line == 0 {
					t.Errorf("%v", note)
				}
				kinds[note.Message] = true
			}
		})
	}
}
