package why

import (
	"maps"
	"path/filepath"
	"slices"
	"testing"
)

// TestExamples changes each leaf of the inputs of each example to several other values of
// its type, removes it and the maps that it is in, and adds fields: one beside it, and those
// that other objects of the kind have. It does so in several states of the example.
//
// A field that a rule writes, or the existence of its object, changes only with inputs that
// its explanation names. While a rule fails, or an object waits, the cluster keeps what it
// has: that is no change.
//
// The converse: if a field is explained by an input, it changes with the input in some
// state. What decides whether the objects exist that it reads does not count here.
func TestExamples(t *testing.T) {
	folders, err := filepath.Glob("../../../examples/*/rules.yaml")
	if err != nil || len(folders) < 20 {
		t.Fatal(err, folders)
	}
	var total tally
	for _, path := range folders {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
			x := effects{}
			var states []*state
			files := statesOf(filepath.Dir(path))
			for _, name := range slices.Sorted(maps.Keys(files)) { // That of the folder is first.
				s := stateOf(load(t, filepath.Dir(path), files[name]), path)
				s.own = name == ""
				states = append(states, s)
				total.fields += len(s.fields)
				total.inputs += len(s.inputs)
				for _, in := range s.inputs {
					total.changes += s.try(in, in.others, x)
				}
			}
			for _, s := range states {
				s.search(x)
			}
			x.check(t)
			total.pairs += len(x)
		})
	}
	t.Logf("%+v, %d of the pairs without an effect", total, len(withoutEffect))
}

// A tally counts what was compared.
type tally struct{ fields, inputs, changes, pairs int }
