package ecosystem

import (
	"bytes"
	"testing"

	"gonum.org/v1/gonum/graph/formats/dot"
)

// TestGraphIsDOT parses what graph -o dot prints, which a script of cli compares, with the
// grammar of Graphviz.
func TestGraphIsDOT(t *testing.T) {
	_, text, found := bytes.Cut(readFile(t, "../../cli/testdata/script/graph.txtar"), []byte("-- rules.dot --\n"))
	text, _, _ = bytes.Cut(text, []byte("\n-- ")) // the next file
	if !found {
		t.Fatal("the script has no rules.dot")
	}
	file, err := dot.ParseBytes(text)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if len(file.Graphs) != 1 || !file.Graphs[0].Directed {
		t.Errorf("got %s", file)
	}
}
