package source

import (
	"strings"
	"testing"
)

// TestSlips reports slips in the indentation, and in the line before the one where YAML
// notices them.
func TestSlips(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a:\n  b: 1\n    c: 2\n  d: 3\n", "x.yaml:3:5: not valid YAML: is indented more than the line before, which already has a value"},
		{"a:\n  b: 1\n c: 2\n  d: 3\n", "x.yaml:3:2: not valid YAML: is indented less than the line before"},
		{"a:\n    b: 1\n  c: 2\n  d: 3\n", "x.yaml:2:5: not valid YAML: is indented more than the next line"},
		{"a:\n-id: x\n  b: 1\n", "x.yaml:2:1: not valid YAML: the dash of an item needs a blank after it (write - id: x)"},
		{"a:\n  LEVEL:info\n  b: 1\n", "x.yaml:2:3: not valid YAML: a key needs a blank after its colon (write LEVEL: info)"},
		{"a:\n  kind Service\n  b: 1\n", "x.yaml:2:3: not valid YAML: a key needs a colon and a blank"},
		{"a: b: c\n", `YAML reads ": " as the end of a key`},
	} {
		_, err := newText(File{Name: "x.yaml", Data: []byte(c.text)}).load()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: want %q, got %v", c.text, c.want, err)
		}
	}
}
