package world_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"reconcel/engine/access"
	"reconcel/engine/inventory"
	"reconcel/sim/world"
)

// ofSelected is a rule for the Foos with some labels.
func ofSelected(labels, more string) string {
	return strings.Replace(fooRule("one", more), "kind: Foo}", "kind: Foo, selector: {matchLabels: {"+labels+"}}}", 1)
}

// TestNarrowerSelector makes a rule select fewer resources, and leave out what it wrote into them, in one change. The
// resource that it no longer selects has nothing of it afterwards, whether the process runs meanwhile or not.
func TestNarrowerSelector(t *testing.T) {
	narrowed := ofSelected("app: x, tier: y", "  status: {availableReplicas: '${self.spec.replicas}'}\n")
	for name, written := range map[string]string{
		"a finalizer": "  teardown: ordered\n  children:\n" + configMap("a"),
		"a finalizer alone": "  finalize:\n  - id: bye\n    timeout: 1m\n    template: {apiVersion: v1, kind: ConfigMap, " +
			"metadata: {name: bye}}\n",
		"a patch": "  patch: {metadata: {labels: {patched: 'yes'}}}\n",
	} {
		for how, change := range map[string]func(t *testing.T, w *world.World){
			"a reload": func(t *testing.T, w *world.World) { reload(t, w, narrowed) },
			"a restart": func(t *testing.T, w *world.World) {
				if err := w.RestartWith(t.Context(), briefRules(t, narrowed)); err != nil {
					t.Fatal(err)
				}
			},
		} {
			t.Run(name+", by "+how, func(t *testing.T) {
				var remains access.Remains
				var left []inventory.Left
				look := func() {
					t.Helper()
					found, err := remains.Left(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					left = append(left, found)
				}
				w, err := world.New(world.Options{Program: briefRules(t, ofSelected("app: x", written)), Kinds: exampleKinds(t),
					Retain: func(_ context.Context, r access.Remains) { remains = r; look() }})
				if err != nil {
					t.Fatal(err)
				}
				put(t, w, "../../examples/foo/foo.yaml")
				merge(t, w, []byte(`{"metadata":{"labels":{"app":"x"}}}`))
				foo := func() string {
					o := w.Cluster().Find(fooKind, "default", "example-foo")
					return strings.Join(o.GetFinalizers(), " ") + o.GetLabels()["patched"]
				}
				if foo() == "" {
					t.Fatal("the rule writes nothing")
				}
				change(t, w)
				look()
				if n := len(left); n != 3 || !left[1].Kinds[fooKind] || left[2].Kinds[fooKind] {
					t.Errorf("permissions for Foos stay until nothing is left of them: %v", left)
				}
				if got := foo(); got != "" {
					t.Errorf("it still has %s", got)
				}
			})
		}
	}
}

// TestDeselectedWhilePaused expects a resource that was deselected while it was paused to lose what rules made, once
// the pause ends: the watch shows neither.
func TestDeselectedWhilePaused(t *testing.T) {
	for name, written := range map[string]string{
		"a finalizer": "  teardown: ordered\n  children:\n" + configMap("a"),
		"a child":     "  children:\n" + configMap("a"),
		"a patch":     "  patch: {metadata: {labels: {patched: 'yes'}}}\n",
	} {
		t.Run(name, func(t *testing.T) {
			w := begin(t, ofSelected("app: x", written))
			merge(t, w, []byte(`{"metadata":{"labels":{"app":"x"}}}`))
			merge(t, w, []byte(`{"metadata":{"annotations":{"reconcel.dev/paused":"true"}}}`))
			merge(t, w, []byte(`{"metadata":{"labels":{"app":null}}}`))
			left := func() string {
				o := w.Cluster().Find(fooKind, "default", "example-foo")
				text := strings.Join(o.GetFinalizers(), " ") + o.GetLabels()["patched"]
				if w.Cluster().Find(configMapKind, "default", "a") != nil {
					text += " ConfigMap/a"
				}
				return text
			}
			if left() == "" {
				t.Fatal("the pause stops nothing")
			}
			merge(t, w, []byte(`{"metadata":{"annotations":{"reconcel.dev/paused":null}}}`))
			if err := w.Advance(t.Context(), time.Minute); err != nil {
				t.Fatal(err)
			}
			if got := left(); got != "" {
				t.Errorf("after the pause, there is still %s", got)
			}
		})
	}
}
