package source

import "testing"

func TestPathAt(t *testing.T) {
	file := File{Name: "f", Data: []byte(`kind: Rules
rules:
- name: a
  children:
  - id: b
  - id: c
    template:
      data:
        a.b: |
          one
          two
    when: "x"
  status: {a: 1, b: 2}
`)}
	for _, test := range []struct {
		line, column int
		want         string
	}{
		{1, 1, "kind"}, {1, 7, "kind"}, {3, 1, "rules"}, {3, 3, "rules[0].name"}, {5, 5, "rules[0].children[0].id"},
		{6, 9, "rules[0].children[1].id"}, {11, 12, `rules[0].children[1].template.data["a.b"]`},
		{12, 5, "rules[0].children[1].when"}, {13, 19, "rules[0].status.b"}, {99, 1, "rules[0].status.b"},
	} {
		if got := PathAt(file, Pos{"f", test.line, test.column}, `unknown key "kind", 'name' or "id"`); got != test.want {
			t.Errorf("%d:%d is %q, want %q", test.line, test.column, got, test.want)
		}
	}
	for _, test := range []struct {
		line, column int
		want         string
	}{{1, 1, ""}, {1, 7, "kind"}, {2, 1, "rules"}, {3, 3, "rules[0]"}, {6, 5, "rules[0].children[1]"}, {6, 9, "rules[0].children[1].id"}} {
		if got := PathAt(file, Pos{"f", test.line, test.column}, "missing key"); got != test.want {
			t.Errorf("about a whole map, %d:%d is %q, want %q", test.line, test.column, got, test.want)
		}
	}
	if got := PathAt(File{}, Pos{"f", 1, 1}, ""); got != "" {
		t.Errorf("an empty file has %q", got)
	}
}
