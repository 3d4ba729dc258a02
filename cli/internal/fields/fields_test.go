package fields

import (
	"strings"
	"testing"
)

func TestChangedFields(t *testing.T) {
	list := func(items ...any) []any { return items }
	named := func(name, image string) any { return map[string]any{"name": name, "image": image} }
	for _, test := range []struct {
		name          string
		before, after any
		want          string
	}{
		{"a value", "1.27", "1.29", "v: 1.27 → 1.29"},
		{"a text of two lines", "a\nb", "", `v: a\nb → ""`},
		{"a long text", "a", strings.Repeat("é", 100), "v: a → " + strings.Repeat("é", 60) + "…"},
		{"a number", int64(1), int64(2), "v: 1 → 2"},
		{"no value before", nil, "x", "v: x added"},
		{"no value after", map[string]any{"a": "x"}, nil, `v: {"a":"x"} removed`},
		{"another type", "x", map[string]any{"a": "x"}, `v: x → {"a":"x"}`},
		{"a key with dots", map[string]any{"a.b/c": "x"}, map[string]any{"a.b/c": "y"}, "v[a.b/c]: x → y"},
		{"a list of the same length", list(named("a", "1"), named("b", "1")), list(named("a", "1"), named("b", "2")), "v[1].image: 1 → 2"},
		{"a longer list with names", list(named("a", "1")), list(named("b", "1"), named("a", "2")), `v.a.image: 1 → 2, v.b: {"image":"1","name":"b"} added`},
		{"a longer list without names", list("a"), list("a", "b"), "v: 1 → 2 items"},
	} {
		t.Run(test.name, func(t *testing.T) {
			object := func(value any) map[string]any {
				if value == nil {
					return map[string]any{}
				}
				return map[string]any{"v": value}
			}
			var got []string
			for _, f := range Changed(object(test.before), object(test.after)) {
				got = append(got, f.Path+": "+f.Values)
			}
			if strings.Join(got, ", ") != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
