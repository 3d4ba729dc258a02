package files

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestStream(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"a document", "apiVersion: v1\nkind: A\nmetadata: {name: a}\n", "v1/A/a"},
		{"documents", "---\nkind: A\nmetadata: {name: a}\n---\n# nothing\n--- # more\nkind: B\nmetadata:\n  name: b\n", "/A/a /B/b"},
		{"a list, as kubectl prints it", "apiVersion: v1\nitems:\n- kind: A\n  metadata:\n    name: a\n  data:\n    text: |\n      - no item\n\n- kind: B\n  metadata: {name: b}\nkind: List\nmetadata:\n  resourceVersion: \"\"\n", "/A/a /B/b"},
		{"an indented list", "kind: List\nitems:\n  - kind: A\n    metadata: {name: a}\n", "/A/a"},
		{"a list and a document", "items:\n- {kind: A, metadata: {name: a}}\nkind: List\n---\nkind: B\nmetadata: {name: b}\n", "/A/a /B/b"},
		{"an empty list", "items: []\nkind: List\n", ""},
		{"JSON", `{"kind": "A", "metadata": {"name": "a"}} {"kind": "B", "metadata": {"name": "b"}}`, "/A/a /B/b"},
		{"a list in JSON", `{"apiVersion": "v1", "items": [{"kind": "A", "metadata": {"name": "a"}}], "kind": "List"}`, "/A/a"},
		{"a typed list in JSON", ` {"kind": "AList", "apiVersion": "v1", "metadata": {}, "items": [ {"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}]}`, "v1/A/a v1/A/b"},
		{"nothing", "\n", ""},
		{"no object", "- a\n", "error"},
		{"half an object", `{"kind": "A", `, "error"},
		{"invalid YAML", "a: {\n", "error"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			err := Reader{Stdin: strings.NewReader(test.text)}.Stream([]string{Stdin}, func(object []byte) error {
				var o struct {
					APIVersion, Kind string
					Metadata         struct{ Name string }
				}
				err := json.Unmarshal(object, &o)
				got = append(got, o.APIVersion+"/"+o.Kind+"/"+o.Metadata.Name)
				return err
			})
			if err != nil {
				got = []string{"error"}
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("got %q, want %q (%v)", strings.Join(got, " "), test.want, err)
			}
		})
	}
}
