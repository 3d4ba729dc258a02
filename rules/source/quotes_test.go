package source

import (
	"strings"
	"testing"
)

// TestUnclosedQuote reports where a text in quotes begins that lacks its end, and not
// where YAML notices it.
func TestUnclosedQuote(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"a later text in quotes", "a:\n  b: \"info\n  c: x\n" + strings.Repeat("  # it's\n", 50) + "  d: \"debug\"\n  e: x\n", "f:2:6: not valid YAML: the text in quotes that begins here ends in line 54 (close the quote on this line)"},
		{"single quotes", "a: 'x\nb: 'y'\n", "f:1:4: not valid YAML: the text in quotes that begins here ends in line 2 (close the quote on this line)"},
		{"a list", "- \"x\n- \"y\"\n- z\n", "f:1:3: not valid YAML: the text in quotes that begins here ends in line 2 (close the quote on this line)"},
		{"quotes in a block text", "a: |\n  it's \"x\nb: \"info\nc: \"debug\"\n", "f:3:4: not valid YAML: the text in quotes that begins here ends in line 4 (close the quote on this line)"},
		{"to the end of the file", "a: \"x\nb: y\n", "f:1:4: not valid YAML: found unexpected end of stream (a quote is opened here and never closed)"},
		{"a text of two lines is none", "a: \"x\n  y\"\nb: [\n", "f:3:1: not valid YAML: did not find expected node content"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := Invalid(File{Name: "f", Data: []byte(c.text)})
			if e == nil || e.Error() != c.want {
				t.Errorf("got  %v\nwant %s", e, c.want)
			}
		})
	}
}
