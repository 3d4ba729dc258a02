package decide

import (
	"testing"

	"reconcel/engine/managedfields"
)

// TestPredatesSchema asks whether our entry of an object is older than the schema, in the order in which a
// process learns of both.
func TestPredatesSchema(t *testing.T) {
	atomic := &managedfields.Granular{Fields: map[string]*managedfields.Granular{"spec": {}}}
	granular := &managedfields.Granular{Fields: map[string]*managedfields.Granular{"spec": {
		Fields: map[string]*managedfields.Granular{"data": {Each: &managedfields.Granular{}}},
	}}}
	whole := managedfields.NewEntry(`{"f:spec":{"f:data":{}}}`)
	emptied := func() map[string]any { return map[string]any{"spec": map[string]any{"data": map[string]any{}}} }
	filled := func() map[string]any {
		return map[string]any{"spec": map[string]any{"data": map[string]any{"k": "v"}}}
	}
	for name, c := range map[string]struct {
		applied   *managedfields.Granular // the schema of the first apply; atomic: this process has not applied
		asked     []*managedfields.Granular
		rendering func() map[string]any
		want      bool // the answer to the last question
	}{
		"the schema turned while no process ran":            {atomic, []*managedfields.Granular{granular}, filled, true},
		"an empty map, by a process that has not applied":   {atomic, []*managedfields.Granular{granular}, emptied, false},
		"an apply before the schema was known":              {nil, []*managedfields.Granular{granular}, emptied, true},
		"the same, asked again before the schema was known": {nil, []*managedfields.Granular{nil, nil, granular}, emptied, true},
		"an apply with this schema":                         {granular, []*managedfields.Granular{granular}, emptied, false},
		"an unknown schema":                                 {nil, []*managedfields.Granular{nil}, filled, false},
	} {
		t.Run(name, func(t *testing.T) {
			var checked CheckedSchema
			if c.applied != atomic {
				checked.Divided(c.applied, whole, whole)
			}
			got := false
			for _, g := range c.asked {
				got = checked.Predates(g, whole, c.rendering)
			}
			if got != c.want {
				t.Errorf("predates is %v", got)
			}
		})
	}
}
