package world_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"reconcel/engine/inventory"
	"reconcel/sim/world"
	"reconcel/test/race"
)

// A span is the life of a process that is killed at its n-th write.
type span struct {
	*life
	left int
	in   string // the namespace whose writes count; "": all, also those to its own inventory
}

func (l *span) write(write func() error) error {
	if l.left--; l.left > 0 && !l.over {
		return write()
	}
	return l.life.write(write)
}

// answered is write for a request with an object in its answer, which is lost with the life.
func (l *span) answered(send func() (*unstructured.Unstructured, error)) (out *unstructured.Unstructured, err error) {
	if err = l.write(func() error { out, err = send(); return err }); err != nil {
		return nil, err
	}
	return out, nil
}

// limited is the client of a process with a span.
type limited struct {
	dynamic.Interface
	span *span
}

func (c limited) Resource(r schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return limitedKind{c.Interface.Resource(r), c.span}
}

type limitedKind struct {
	dynamic.NamespaceableResourceInterface
	span *span
}

func (c limitedKind) Namespace(ns string) dynamic.ResourceInterface {
	inner := c.NamespaceableResourceInterface.Namespace(ns)
	if c.span.in != "" && ns != c.span.in {
		return inner
	}
	return limitedObjects{inner, c.span}
}

type limitedObjects struct {
	dynamic.ResourceInterface
	span *span
}

func (c limitedObjects) Get(ctx context.Context, name string, o metav1.GetOptions, sub ...string) (*unstructured.Unstructured, error) {
	if c.span.over {
		return nil, errKilled
	}
	return c.ResourceInterface.Get(ctx, name, o, sub...)
}

func (c limitedObjects) Create(ctx context.Context, u *unstructured.Unstructured, o metav1.CreateOptions, sub ...string) (*unstructured.Unstructured, error) {
	return c.span.answered(func() (*unstructured.Unstructured, error) { return c.ResourceInterface.Create(ctx, u, o, sub...) })
}

func (c limitedObjects) Update(ctx context.Context, u *unstructured.Unstructured, o metav1.UpdateOptions, sub ...string) (*unstructured.Unstructured, error) {
	return c.span.answered(func() (*unstructured.Unstructured, error) { return c.ResourceInterface.Update(ctx, u, o, sub...) })
}

func (c limitedObjects) Patch(ctx context.Context, name string, pt types.PatchType, data []byte, o metav1.PatchOptions, sub ...string) (*unstructured.Unstructured, error) {
	return c.span.answered(func() (*unstructured.Unstructured, error) {
		return c.ResourceInterface.Patch(ctx, name, pt, data, o, sub...)
	})
}

func (c limitedObjects) Delete(ctx context.Context, name string, o metav1.DeleteOptions, sub ...string) error {
	return c.span.write(func() error { return c.ResourceInterface.Delete(ctx, name, o, sub...) })
}

// changing is a world in which a controller with a span has some rules.
func changing(t *testing.T, before string, at int, committed bool) (*world.World, *span) {
	t.Helper()
	w := load(t, before)
	put(t, w, "../../examples/foo/foo.yaml")
	settle(t, w)
	l := &span{life: &life{committed: committed}, left: at}
	w.Wrap(func(c dynamic.Interface) dynamic.Interface { return limited{c, l} })
	if err := w.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w, l
}

// live reloads rules in a controller that may be killed meanwhile, and continues with
// another one, which is not.
func live(t *testing.T, w *world.World, text string) {
	t.Helper()
	_ = w.Reload(t.Context(), parsed(t, text)) // It fails if the controller is killed.
	_ = w.Advance(t.Context(), time.Second)
	again(t, w)
}

func again(t *testing.T, w *world.World) {
	t.Helper()
	w.Wrap(immortal)
	if err := w.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// revisions counts the ConfigMaps by their text.
func revisions(w *world.World) string {
	count := map[string]int{}
	for _, o := range catsOf(w) {
		count[revision(o)]++
	}
	return fmt.Sprint(count)
}

func heldChange(n int, text string) string {
	return "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n" + fooRule("one", "", fmt.Sprintf(
		"  - id: cats\n    forEach: {n: lists.range(%d)}\n    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: \"cat-${n}\"}, data: {revision: %s}}\n", n, text))
}

// TestHoldSurvivesEachKill kills the controller at each write after a change that deletes too
// much, and after its approval. Nothing is deleted before the approval, and nothing is left
// after it.
func TestHoldSurvivesEachKill(t *testing.T) {
	race.Skip(t)
	ours := inventory.Options{Namespace: "kube-system", Installation: world.Controller, FieldManager: "someone"}
	approve := func(w *world.World) string {
		hash := hashOf(w.Cluster().Find(fooKind, "default", "example-foo"))
		if err := inventory.New(w.Cluster().Client("someone"), ours).Approve(t.Context(), hash); err != nil {
			t.Fatal(err)
		}
		return hash
	}
	kills := 0
	for _, committed := range []bool{false, true} {
		for at, dies := 1, true; dies; at++ {
			w, l := changing(t, heldChange(20, "one"), at, committed)
			live(t, w, heldChange(5, "two"))
			if got := revisions(w); got != "map[one:20]" {
				t.Fatalf("killed at write %d: there are %s", at, got)
			}
			if dies = l.over; dies {
				kills++
			}
			if approve(w) == "" {
				t.Fatalf("killed at write %d: the rule is not held", at)
			}
			again(t, w)
			if got := revisions(w); got != "map[two:5]" {
				t.Fatalf("killed at write %d, after the approval: there are %s", at, got)
			}
		}
		for at, dies := 1, true; dies; at++ {
			w, l := changing(t, heldChange(20, "one"), 1000, committed)
			reload(t, w, strings.TrimPrefix(heldChange(5, "two"), "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n"))
			approve(w)
			l.left = at
			_ = w.Advance(t.Context(), time.Second)
			if dies = l.over; dies {
				kills++
			}
			again(t, w)
			if got := revisions(w); got != "map[two:5]" {
				t.Fatalf("killed at write %d after the approval: there are %s", at, got)
			}
		}
	}
	if kills < 20 {
		t.Errorf("it was killed %d times only", kills)
	}
	t.Logf("killed %d times", kills)
}

func hashOf(foo *unstructured.Unstructured) string {
	_, after, _ := strings.Cut(message(foo.Object, "Held"), "reconcel approve ")
	hash, _, _ := strings.Cut(after, " ")
	return hash
}

// TestRolloutSurvivesEachKill kills the controller at each write of a rollout whose new version
// never becomes ready: it reaches the first wave alone.
func TestRolloutSurvivesEachKill(t *testing.T) {
	rule := func(text string) string {
		return "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n" + fooRule("one", "", fmt.Sprintf(
			"  - id: cats\n    readyWhen: annotation(child, 'ready').orValue('one') == '%s'\n"+
				"    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: \"cat-${self.metadata.name}\"}, data: {revision: %s}}\n", text, text)) +
			"  rollout: {maxUnavailable: 2}\n"
	}
	kills := 0
	for _, committed := range []bool{false, true} {
		for at, dies := 1, true; dies; at++ {
			w, l := changing(t, rule("one"), 1000, committed)
			for i := range 5 {
				foo := w.Cluster().Find(fooKind, "default", "example-foo").DeepCopy()
				foo.SetName(fmt.Sprintf("foo-%d", i))
				foo.SetUID("")
				foo.SetResourceVersion("")
				if _, err := w.Cluster().Put(foo); err != nil {
					t.Fatal(err)
				}
			}
			settle(t, w)
			l.left = at
			live(t, w, rule("two"))
			if dies = l.over; dies {
				kills++
			}
			if got := revisions(w); got != "map[one:4 two:2]" {
				t.Fatalf("killed at write %d: there are %s", at, got)
			}
			if err := inventory.New(w.Cluster().Client("someone"), inventory.Options{Namespace: "kube-system", Installation: world.Controller, FieldManager: "someone"}).
				SetRollout(t.Context(), "Foo.samplecontroller.k8s.io", inventory.Undone); err != nil {
				t.Fatal(err)
			}
			again(t, w)
			if got := revisions(w); got != "map[one:6]" {
				t.Fatalf("killed at write %d, and undone: there are %s", at, got)
			}
		}
	}
	if kills < 6 {
		t.Errorf("it was killed %d times only", kills)
	}
	t.Logf("killed %d times", kills)
}

// TestApprovedRollout approves a change that deletes too much and reaches the resources in waves. Until its rollout is over,
// neither another rule nor a restart holds it again.
func TestApprovedRollout(t *testing.T) {
	rule := func(n int, text string) string {
		return fooRule("one", "", fmt.Sprintf("  - id: cats\n    forEach: {n: lists.range(%d)}\n"+
			"    readyWhen: annotation(child, 'ready').orValue('one') == '%s'\n"+
			"    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: \"cat-${self.metadata.name}-${n}\"}, data: {revision: %s}}\n",
			n, text, text)) + "  rollout: {maxUnavailable: 2}\n"
	}
	w := begin(t, rule(5, "one"))
	for i := range 5 {
		foo := w.Cluster().Find(fooKind, "default", "example-foo").DeepCopy()
		foo.SetName(fmt.Sprintf("foo-%d", i))
		foo.SetUID("")
		foo.SetResourceVersion("")
		if _, err := w.Cluster().Put(foo); err != nil {
			t.Fatal(err)
		}
	}
	settle(t, w)
	ours := inventory.New(w.Cluster().Client("someone"), inventory.Options{Namespace: "kube-system", Installation: world.Controller, FieldManager: "someone"})
	set := func(state inventory.RolloutState) {
		t.Helper()
		if err := ours.SetRollout(t.Context(), "Foo.samplecontroller.k8s.io", state); err != nil {
			t.Fatal(err)
		}
		settle(t, w)
	}
	has := func(when, want string) {
		t.Helper()
		if got := revisions(w); got != want {
			t.Fatalf("%s, there are %s, want %s", when, got, want)
		}
	}
	reload(t, w, rule(1, "two"))
	has("while it is held", "map[one:30]")
	if err := ours.Approve(t.Context(), hashOf(w.Cluster().Find(fooKind, "default", "example-foo"))); err != nil {
		t.Fatal(err)
	}
	settle(t, w)
	has("after the approval", "map[one:20 two:2]")
	reload(t, w, rule(1, "two"), forService)
	has("after a change of another rule", "map[one:20 two:2]")
	again(t, w)
	has("after a restart", "map[one:20 two:2]")
	set(inventory.Undone)
	again(t, w)
	has("when it is undone", "map[one:30]")
	set(inventory.Progressing)
	has("when it is resumed", "map[one:20 two:2]")
}
