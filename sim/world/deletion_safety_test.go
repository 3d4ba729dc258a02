package world_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestPausedPrimaryKeepsItsFinalizer removes the rule of a paused primary that is being deleted. Nothing happens until the
// pause ends.
func TestPausedPrimaryKeepsItsFinalizer(t *testing.T) {
	w := begin(t, fooRule("one", "  teardown: ordered\n", configMap("a")))
	merge(t, w, []byte(`{"metadata":{"annotations":{"reconcel.dev/paused":"true"}}}`))
	if err := w.Cluster().Client("someone").Resource(fooResource).Namespace("default").Delete(t.Context(), "example-foo", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	settle(t, w)
	reload(t, w, forService)
	if err := w.Advance(t.Context(), 10*time.Minute); err != nil {
		t.Fatal(err)
	}
	if foo := w.Cluster().Find(fooKind, "default", "example-foo"); foo == nil || len(foo.GetFinalizers()) == 0 || configMaps(w) != "a=one" {
		t.Fatalf("while it is paused, the Foo is %v, and there are %q", foo, configMaps(w))
	}
	merge(t, w, []byte(`{"metadata":{"annotations":{"reconcel.dev/paused":null}}}`))
	if err := w.Advance(t.Context(), 10*time.Minute); err != nil {
		t.Fatal(err)
	}
	if foo := w.Cluster().Find(fooKind, "default", "example-foo"); foo != nil {
		t.Errorf("after the pause, the Foo still has the finalizers %q", foo.GetFinalizers())
	}
}

// TestRenamedRuleForNamespaces renames a rule for a cluster-scoped kind. The other rule takes over the objects, so that
// nothing counts as deleted.
func TestRenamedRuleForNamespaces(t *testing.T) {
	before := "- name: one\n  onRuleRemoval: delete\n  for: {apiVersion: v1, kind: Namespace, when: self.metadata.name == 'default'}\n  allow: {namespaces: [default]}\n" +
		"  children:\n  - id: cats\n    forEach: {n: lists.range(20)}\n    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: \"cat-${n}\", namespace: default}, data: {revision: one}}\n"
	w := begin(t, before)
	if got := revisions(w); got != "map[one:20]" {
		t.Fatalf("there are %s", got)
	}
	reload(t, w, strings.Replace(strings.Replace(before, "name: one", "name: two", 1), "revision: one", "revision: two", 1))
	if err := w.Advance(t.Context(), time.Hour); err != nil {
		t.Fatal(err)
	}
	if got := revisions(w); got != "map[two:20]" {
		t.Errorf("there are %s: the change is held", got)
	}
}

// TestMovedChildDuringARollout moves a child to a rule that changes in groups, and stops at the first. No resource loses its
// object meanwhile, whether the former rule stays or goes.
func TestMovedChildDuringARollout(t *testing.T) {
	moved := "  - id: moved\n    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: 'moved-${self.metadata.name}'}}\n"
	stuck := func(revision string) string {
		return "  - id: cats\n    readyWhen: annotation(child, 'ready').orValue('one') == '" + revision + "'\n" +
			"    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: 'cat-${self.metadata.name}'}, data: {revision: " + revision + "}}\n"
	}
	const waves = "  rollout: {maxUnavailable: 1}\n"
	for name, after := range map[string][]string{
		"the former rule stays": {fooRule("from", "  onRuleRemoval: delete\n"), fooRule("to", waves, stuck("two"), moved)},
		"the former rule goes":  {fooRule("to", waves, stuck("two"), moved)},
		"the former rule selects nothing": {strings.Replace(fooRule("from", "  onRuleRemoval: delete\n  teardown: ordered\n", moved), "kind: Foo}", "kind: Foo, when: 'false'}", 1),
			fooRule("to", waves, stuck("two"), moved)},
	} {
		t.Run(name, func(t *testing.T) {
			from := "  onRuleRemoval: delete\n"
			if strings.Contains(after[0], "teardown") {
				from += "  teardown: ordered\n"
			}
			w := begin(t, fooRule("from", from, moved), fooRule("to", waves, stuck("one")))
			for i := range 3 {
				foo := w.Cluster().Find(fooKind, "default", "example-foo").DeepCopy()
				foo.SetName(fmt.Sprintf("foo-%d", i))
				foo.SetUID("")
				foo.SetResourceVersion("")
				if _, err := w.Cluster().Put(foo); err != nil {
					t.Fatal(err)
				}
			}
			settle(t, w)
			reload(t, w, after...)
			if err := w.Advance(t.Context(), time.Hour); err != nil {
				t.Fatal(err)
			}
			if got := revisions(w); got != "map[one:3 two:1]" {
				t.Errorf("there are %s", got)
			}
			for _, write := range w.Writes() {
				if write.Verb == "delete" && write.Changed {
					t.Errorf("%s was deleted", write.Name)
				}
			}
		})
	}
}

// TestMovedChildWhileHeld moves a child to a rule whose change is held. The resource keeps its object meanwhile, whether the
// former rule stays or goes.
func TestMovedChildWhileHeld(t *testing.T) {
	moved := "  - id: moved\n    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: moved}}\n"
	many := func(n int) string {
		return fmt.Sprintf("  - id: cats\n    forEach: {n: lists.range(%d)}\n    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: \"cat-${n}\"}, data: {revision: one}}\n", n)
	}
	for name, after := range map[string][]string{
		"the former rule stays": {fooRule("from", "  onRuleRemoval: delete\n"), fooRule("to", "", many(2), moved)},
		"the former rule goes":  {fooRule("to", "", many(2), moved)},
	} {
		t.Run(name, func(t *testing.T) {
			w := begin(t, fooRule("from", "  onRuleRemoval: delete\n", moved), fooRule("to", "", many(20)))
			reload(t, w, after...)
			if err := w.Advance(t.Context(), time.Hour); err != nil {
				t.Fatal(err)
			}
			if got := revisions(w); got != "map[one:20]" {
				t.Errorf("the change is not held: there are %s", got)
			}
			for _, write := range w.Writes() {
				if write.Verb == "delete" && write.Changed {
					t.Errorf("%s was deleted", write.Name)
				}
			}
		})
	}
}
