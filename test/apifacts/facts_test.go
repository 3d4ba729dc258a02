package apifacts

import "testing"

// TestAnswersAreComplete compares the recorded answers with the objects. The API server
// accepts each base, and rejects each edit that contradicts a table.
func TestAnswersAreComplete(t *testing.T) {
	f, a, err := Read()
	if err != nil {
		t.Fatal(err)
	}
	for name := range f.Bases {
		if answer, recorded := a.Bases[name]; !recorded || answer != "" {
			t.Errorf("base %s: %q, recorded: %v", name, answer, recorded)
		}
	}
	for _, c := range f.Cases {
		got := a.Cases[c.Key()]
		if len(got) != len(c.Edits) {
			t.Errorf("%s: %d answers for %d edits", c.Key(), len(got), len(c.Edits))
			continue
		}
		for i, answer := range got {
			if answer == "" {
				t.Errorf("%s: the API server accepts %v", c.Key(), c.Edits[i])
			}
		}
	}
	for _, d := range f.Defaults {
		if len(a.Defaults[d.Definition]) == 0 {
			t.Errorf("%s: the stored object has no fields", d.Definition)
		}
	}
	for _, z := range f.Zeroes {
		if answer, recorded := a.Zeroes[z.Field]; !recorded || answer != "" {
			t.Errorf("%s: %q, recorded: %v", z.Field, answer, recorded)
		}
	}
	for _, c := range f.Applies {
		if answer := a.Applies[c.About]; answer.Code == 0 {
			t.Errorf("%s: the API server accepts it", c.About)
		}
	}
}
