package files

import (
	"strings"
	"testing"
)

// TestPosition finds fields of objects in their file.
func TestPosition(t *testing.T) {
	text := "# one\n---\n{kind: A, metadata: {name: a}}\n---\nkind: List\nitems:\n- kind: B\n  metadata:\n    name: b\n    labels: {a.b: c}\n  list:\n  - x: 1\n  - y: 2\n"
	objects, err := Reader{Stdin: strings.NewReader(text)}.Objects([]string{Stdin})
	if err != nil || len(objects) != 2 {
		t.Fatal(objects, err)
	}
	for _, c := range []struct {
		object int
		path   string
		want   string
	}{
		{0, "metadata.name", "<stdin>:3:22"},
		{0, "metadata.labels.a", "<stdin>:3:11"},
		{1, "", "<stdin>:7:3"},
		{1, `metadata.labels["a.b"]`, "<stdin>:10:14"},
		{1, "list[1].y", "<stdin>:13:5"},
		{1, "list[5]", "<stdin>:11:3"},
	} {
		if got := objects[c.object].Position(c.path).String(); got != c.want {
			t.Errorf("%s: got %s, want %s", c.path, got, c.want)
		}
	}
}
