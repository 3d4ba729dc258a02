package files

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reconcel/rules/source"
)

func TestDecodeObjects(t *testing.T) {
	cases := []struct {
		name, text string
		want       []string
		err        string
	}{
		{name: "one", text: "kind: A\nmetadata: {name: a}\n", want: []string{"A a"}},
		{name: "nothing", text: "# only a comment\n"},
		{name: "several", text: "---\nkind: A\nmetadata: {name: a}\n--- # next\nkind: B\nmetadata: {name: b, namespace: ns}\n---\n", want: []string{"A a", "B ns/b"}},
		{name: "windows lines", text: "kind: A\r\nmetadata: {name: a}\r\n---\r\nkind: B\r\nmetadata: {name: b}\r\n", want: []string{"A a", "B b"}},
		{name: "dashes that are no marker", text: "kind: A\nmetadata: {name: a}\ndata: |\n  ---\n  x\n", want: []string{"A a"}},
		{name: "JSON", text: ` {"kind":"A","metadata":{"name":"a"}} {"kind":"B","metadata":{"name":"b"}}`, want: []string{"A a", "B b"}},
		{name: "a List", text: "kind: List\nitems:\n- {kind: A, metadata: {name: a}}\n- {kind: B, metadata: {name: b}}\n", want: []string{"A a", "B b"}},
		{name: "a typed list", text: "apiVersion: v1\nkind: PodList\nitems:\n- {metadata: {name: a}}\n", want: []string{"Pod a"}},
		{name: "a kind that only ends in List", text: "kind: ShoppingList\nmetadata: {name: a}\nspec: {items: [milk]}\n", want: []string{"ShoppingList a"}},
		{name: "a broken second document", text: "kind: A\n---\nkind: B\n  x: y\n", err: "f:4:3: not valid YAML: is indented more than the line before, which already has a value"},
		{name: "a duplicate key", text: "kind: A\n---\nkind: B\nkind: C\n", err: "f:4:1: not valid YAML: key \"kind\" already set in map"},
		{name: "YAML that looks like JSON", text: "{kind: A, metadata: {name: a}}\n---\n{kind: B, metadata: {name: b}}\n", want: []string{"A a", "B b"}},
		{name: "broken JSON", text: "{\n\"kind\": ]}", err: "f:1:1: not valid YAML: did not find expected node content"},
		{name: "an error after many documents", text: strings.Repeat("kind: A\n---\n", 3) + "a: [b\n", err: "f:7:4: not valid YAML: did not find expected ',' or ']' (is a comma missing, or the bracket that closes? Inside { } and [ ] an expression with ?, [ or a comma needs quotes)"},
		{name: "not UTF-8", text: "kind: A\nb: \xff\n", err: "f:2:4: byte 0xFF is not UTF-8 (save the file as UTF-8)"},
		{name: "no map", text: "- a\n", err: "f:1:1: expected a Kubernetes object, got a list"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			objects, err := decodeObjects(source.File{Name: "f", Data: []byte(c.text)})
			var got []string
			for _, o := range objects {
				got = append(got, o.String())
			}
			if err != nil {
				if diff := cmp.Diff(c.err, err.Error()); diff != "" {
					t.Errorf("error (-want +got)\n%s", diff)
				}
				return
			}
			if diff := cmp.Diff(c.want, got); diff != "" || c.err != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestManyDocuments reads as many small documents as fit into 1 MB: each takes as long as
// the first.
func TestManyDocuments(t *testing.T) {
	text := strings.Repeat("kind: A\nmetadata: {name: a}\n---\n", 1<<20/32)
	objects, err := decodeObjects(source.File{Name: "f", Data: []byte(text)})
	if err != nil || len(objects) != 1<<20/32 {
		t.Errorf("%d objects, %v", len(objects), err)
	}
}
