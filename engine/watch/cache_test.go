package watch

import (
	"errors"
	"slices"
	"testing"

	"k8s.io/client-go/tools/cache"

	"reconcel/engine/discover"
	"reconcel/rules"
	"reconcel/rules/source"
)

// split returns a cache of the namespaces a and b, of which b is not listed, and
// the store of a.
func split() (*Cache, cache.Indexer) {
	w := New(Key{Role: Child}, rules.VisibleToRules())
	a, b := newNamespaced("a", w), newNamespaced("b", w)
	a.fill(a.objects())
	return &Cache{kind: discover.Kind{Namespaced: true}, namespaces: []*namespaced{a, b}}, a.objects()
}

func TestNamespacesOfACache(t *testing.T) {
	c, a := split()
	if err := a.Add(thing("a", "1", "")); err != nil {
		t.Fatal(err)
	}
	a.Bookmark("7")
	for _, test := range []struct {
		namespace         string
		has, shows, seen7 bool
	}{
		{"a", true, true, true},
		{"b", false, false, false},
		{"c", false, false, false},
	} {
		o, listed := c.Get(test.namespace, "1")
		if got := o != nil; got != test.has {
			t.Errorf("namespace %s has the object: %t", test.namespace, got)
		}
		if listed != test.shows {
			t.Errorf("namespace %s is listed: %t", test.namespace, listed)
		}
		if got := c.CaughtUp(test.namespace, "7"); got != test.seen7 {
			t.Errorf("version 7 has been seen in namespace %s: %t", test.namespace, got)
		}
	}
	if all := slices.Collect(c.All()); len(all) != 1 || c.Listed() != 1 || c.Unlisted() == nil {
		t.Errorf("%d objects of %d namespaces, unlisted: %v", len(all), c.Listed(), c.Unlisted())
	}
	c.namespaces[1].problem.Store(nil)
	if c.Listed() != 2 || c.Unlisted() != nil {
		t.Errorf("with all namespaces listed, %d are, unlisted: %v", c.Listed(), c.Unlisted())
	}
}

// TestUnlistedNamespace tells to whom it matters that namespace b cannot be read.
func TestUnlistedNamespace(t *testing.T) {
	program, err := rules.Load([]source.File{{Name: "rules.yaml", Data: []byte(`
apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- {name: stays, for: {apiVersion: v1, kind: Service}}
- {name: elsewhere, for: {apiVersion: v1, kind: Service}, allow: {namespaces: ["c*"]}}
- {name: reaches, for: {apiVersion: v1, kind: Service}, allow: {namespaces: ["b*"]}}
`)}})
	if err != nil {
		t.Fatal(err)
	}
	c, _ := split()
	why := errors.New("forbidden")
	c.namespaces[1].problem.Store(&why)
	for _, r := range program.Primaries()[0].Rules {
		for namespace, want := range map[string]bool{"a": r.Name == "reaches", "b": true} {
			if got := errors.Is(c.UnlistedFor(r, namespace), why); got != want {
				t.Errorf("rule %q, a primary in %s: it waits: %t", r.Name, namespace, got)
			}
		}
	}
	for namespace, want := range map[string]bool{"a": false, "b": true, "": true} {
		if got := errors.Is(c.unlistedIn(namespace), why); got != want {
			t.Errorf("a lookup in %q waits: %t", namespace, got)
		}
	}
}

func TestProblemsOfAWatch(t *testing.T) {
	w := &Watch{}
	if got := w.Problems(); len(got) != 1 || !errors.Is(got[0], ErrNotListed) {
		t.Errorf("a watch that has not begun: %v", got)
	}
	c, _ := split()
	w.listing.Store(c)
	if got := w.Problems(); len(got) != 1 || !errors.Is(got[0], ErrNotListed) {
		t.Errorf("a watch of which a namespace is not listed: %v", got)
	}
	c.namespaces[1].problem.Store(nil)
	if got := w.Problems(); len(got) > 0 {
		t.Errorf("a watch that is listed: %v", got)
	}
	if !discover.IsUnwatchable(discover.Kind{}.CheckScope([]string{"a"})) || !discover.IsUnwatchable(discover.NoKindError{}) || discover.IsUnwatchable(ErrNotListed) {
		t.Error("what is worth waiting for is not told from what is not")
	}
}
