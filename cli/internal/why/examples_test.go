package why

import (
	"path/filepath"
	"testing"
)

// TestExamples changes each leaf of the inputs of each example to several other values of
// its type, removes it and the maps that it is in, and adds fields: one beside it, and those
// that other objects of the kind have. It does so in several states of the example.
//
// A field that a rule writes, or the existence of its object, changes only with inputs that
// its explanation names. While a rule fails, or an object waits, the cluster keeps what it
// has: that is no change.
func TestExamples(t *testing.T) {
	folders, err := filepath.Glob("../../../examples/*/rules.yaml")
	if err != nil || len(folders) < 20 {
		t.Fatal(err, folders)
	}
	var total tally
	for _, path := range folders {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
			for _, file := range statesOf(filepath.Dir(path)) {
				s := stateOf(load(t, filepath.Dir(path), file))
				total.fields += len(s.fields)
				total.inputs += len(s.inputs)
				for _, in := range s.inputs {
					total.changes += s.try(in)
				}
			}
		})
	}
	t.Logf("%+v", total)
}

// A tally counts what was compared.
type tally struct{ fields, inputs, changes int }
