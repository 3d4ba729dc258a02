package watch

import (
	"slices"
	"testing"

	"reconcel/rules"
)

// TestStoreTellsWhatHasChanged fills a store by a list, by events, and by another list, as after
// an outage.
func TestStoreTellsWhatHasChanged(t *testing.T) {
	var told []string
	w := New(Key{Role: Child}, rules.VisibleToRules())
	w.Notify(func(o *Object) { told = append(told, "changed "+o.GetName()+" "+o.GetResourceVersion()) }, func() {})
	w.Witness(func(old, now *Object) {
		for state, o := range map[string]*Object{"old": old, "now": now} {
			if o != nil {
				told = append(told, state+" "+o.GetName()+" "+o.GetResourceVersion())
			}
		}
	})
	at := func(name, version string) *Object {
		o := thing("a", name, "")
		o.version = version
		return o
	}
	s := &store{watch: w, objects: newIndexer(w)}
	s.listed = func() { told = append(told, "listed") }
	for _, step := range []struct {
		what    string
		do      func() error
		version string
		want    []string
	}{
		{"first list", func() error { return s.Replace([]any{at("x", "1"), at("y", "2")}, "3") }, "3", []string{"listed"}},
		{"added", func() error { return s.Add(at("z", "4")) }, "4", []string{"changed z 4", "now z 4"}},
		{"changed", func() error { return s.Update(at("x", "5")) }, "5", []string{"changed x 5", "now x 5", "old x 1"}},
		{"deleted", func() error { return s.Delete(at("z", "6")) }, "6", []string{"changed z 6", "old z 6"}},
		{"bookmark", func() error { return s.Bookmark("7") }, "7", nil},
		{"later list", func() error { return s.Replace([]any{at("x", "8"), at("v", "9")}, "10") }, "10", []string{
			"changed v 9", "changed x 8", "changed y 2", "now v 9", "now x 8", "old x 5", "old y 2",
		}},
	} {
		told = nil
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.what, err)
		}
		slices.Sort(told)
		if !slices.Equal(told, step.want) {
			t.Errorf("%s: told %q, want %q", step.what, told, step.want)
		}
		if got := s.objects.LastStoreSyncResourceVersion(); got != step.version {
			t.Errorf("%s: the store is at version %s, want %s", step.what, got, step.version)
		}
	}
	if keys := s.objects.ListKeys(); len(keys) != 2 {
		t.Errorf("the store has %q, want x and v", keys)
	}
}
