package engine

import (
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"reconcel/engine/discover"
	"reconcel/rules"
	"reconcel/rules/source"
)

// split returns a cache of the namespaces a and b, of which b is not filled, and
// the store of a.
func split() (*cached, cache.Indexer) {
	indexers := cache.Indexers{byOwner: indexOwner}
	a := cache.NewIndexer(cache.MetaNamespaceKeyFunc, indexers)
	return &cached{kind: Kind{Namespaced: true}, parts: []*part{newFilledPart("a", a), newPart("b", indexers)}}, a
}

func TestPartsOfACache(t *testing.T) {
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
		if got := c.get(test.namespace, "1") != nil; got != test.has {
			t.Errorf("namespace %s has the object: %t", test.namespace, got)
		}
		if got := c.shows(test.namespace); got != test.shows {
			t.Errorf("namespace %s is shown: %t", test.namespace, got)
		}
		if got := c.seen(test.namespace, "7"); got != test.seen7 {
			t.Errorf("version 7 has been seen in namespace %s: %t", test.namespace, got)
		}
	}
	if len(c.list()) != 1 || c.complete() {
		t.Errorf("%d objects, complete: %t", len(c.list()), c.complete())
	}
	c.parts[1].problem.Store(nil)
	if !c.complete() {
		t.Error("the cache is not complete when all parts are filled")
	}
}

// TestBlindSpots tells to whom it matters that namespace b cannot be read.
func TestBlindSpots(t *testing.T) {
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
	c.parts[1].problem.Store(&why)
	for _, r := range program.Primaries()[0].Rules {
		for namespace, want := range map[string]bool{"a": r.Name == "reaches", "b": true} {
			if got := errors.Is(c.blindSpot(r, namespace), why); got != want {
				t.Errorf("rule %q, a primary in %s: it waits: %t", r.Name, namespace, got)
			}
		}
	}
	for namespace, want := range map[string]bool{"a": false, "b": true, "": true} {
		if got := errors.Is(c.unread(namespace), why); got != want {
			t.Errorf("a lookup in %q waits: %t", namespace, got)
		}
	}
}

// TestNothingIsForgottenUnread would panic if the inventory, which there is not,
// were changed.
func TestNothingIsForgottenUnread(t *testing.T) {
	c, _ := split()
	gvk := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	w := &watch{key: watchKey{gvk: gvk}}
	w.cached.Store(c)
	former := map[string][]schema.GroupVersionKind{"r": {gvk}}
	new(Engine).clearKind(t.Context(), former, &rules.Rule{Name: "r"}, w)
	if len(former["r"]) != 1 {
		t.Error("the kind is forgotten, and something of it may be left")
	}
}

func TestTroublesOfAWatch(t *testing.T) {
	w := &watch{}
	if got := w.troubles(); len(got) != 1 || !errors.Is(got[0], errStarting) {
		t.Errorf("a watch that has not begun: %v", got)
	}
	c, _ := split()
	w.following.Store(c)
	if got := w.troubles(); len(got) != 1 || !errors.Is(got[0], errStarting) {
		t.Errorf("a watch of which a part is not filled: %v", got)
	}
	c.parts[1].problem.Store(nil)
	if got := w.troubles(); len(got) > 0 {
		t.Errorf("a watch that is filled: %v", got)
	}
	if !discover.IsUnwatchable(Kind{}.CheckScope([]string{"a"})) || !discover.IsUnwatchable(discover.NoKindError{}) || discover.IsUnwatchable(errStarting) {
		t.Error("what is worth waiting for is not told from what is not")
	}
}
