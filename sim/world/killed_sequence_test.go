package world_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/sim"
	"reconcel/sim/world"
	"reconcel/test/stories"
)

// TestSequenceKilledAtEachWrite changes a list and a template, deselects and deletes, with a controller
// that is killed at each write. Objects come, change and go in their order all the same.
func TestSequenceKilledAtEachWrite(t *testing.T) {
	const foo = `{"spec":{"deploymentName":%q,"replicas":%d}}`
	for round := range 2 {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			w := load(t, strings.ReplaceAll(stories.SequenceRules, "NAMESPACE", "default"))
			put(t, w, "../../examples/foo/foo.yaml")
			client := w.Cluster().Client("someone")
			foos := client.Resource(fooResource).Namespace("default")
			patch := func(text string) {
				t.Helper()
				if _, err := foos.Patch(t.Context(), "example-foo", types.MergePatchType, []byte(text), metav1.PatchOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			kills := 0
			for _, c := range []struct {
				change func()
				want   string
			}{
				{func() { patch(fmt.Sprintf(foo, "one", 3)) }, "cat-0:one cat-1:one cat-2:one"},
				{func() { patch(fmt.Sprintf(foo, "one", 5)) }, "cat-0:one cat-1:one cat-2:one cat-3:one cat-4:one"},
				{func() { patch(fmt.Sprintf(foo, "two", 5)) }, "cat-0:two cat-1:two cat-2:two cat-3:two cat-4:two"},
				{func() { patch(fmt.Sprintf(foo, "three", 2)) }, "cat-0:three cat-1:three"},
				{func() { patch(fmt.Sprintf(foo, "off", 2)) }, ""},
				{func() { patch(fmt.Sprintf(foo, "four", 4)) }, "cat-0:four cat-1:four cat-2:four cat-3:four"},
				{func() {
					if err := foos.Delete(t.Context(), "example-foo", metav1.DeleteOptions{}); err != nil {
						t.Fatal(err)
					}
				}, ""},
			} {
				c.change()
				for lives, calm := 0, 0; calm < 3; lives++ {
					if lives == 200 {
						t.Fatalf("%q: it does not come to rest", c.want)
					}
					l := &life{committed: (lives+round)%2 == 1}
					w.Wrap(dying(l))
					if err := w.Restart(t.Context()); err != nil {
						t.Fatal(err)
					}
					if err := w.Advance(t.Context(), 10*time.Second); err != nil {
						t.Fatal(err)
					}
					calm++
					if l.over {
						kills, calm = kills+1, 0
					}
					makeReady(t, w)
				}
				if got := cats(w); got != c.want {
					t.Errorf("there are %q, want %q", got, c.want)
				}
			}
			if foo := w.Cluster().Find(fooKind, "default", "example-foo"); foo != nil {
				t.Errorf("the Foo is still there: %v", foo.GetFinalizers())
			}
			checkOrder(t, w.Cluster().Changes(0))
			if kills < 50 {
				t.Errorf("it was killed %d times only", kills)
			}
			t.Logf("killed %d times", kills)
		})
	}
}

// makeReady makes each ConfigMap of the sequence ready in its revision.
func makeReady(t *testing.T, w *world.World) {
	t.Helper()
	client := w.Cluster().Client("someone").Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace("default")
	for _, o := range catsOf(w) {
		text := fmt.Appendf(nil, `{"metadata":{"annotations":{"example.com/ready":%q}}}`, revision(o))
		if _, err := client.Patch(t.Context(), o.GetName(), types.MergePatchType, text, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

func revision(o *unstructured.Unstructured) string {
	says, _, _ := unstructured.NestedString(o.Object, "data", "revision")
	return says
}

func cats(w *world.World) string {
	var all []string
	for _, o := range catsOf(w) {
		all = append(all, o.GetName()+":"+revision(o))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func catsOf(w *world.World) (all []*unstructured.Unstructured) {
	for _, o := range w.Objects() {
		if o.GetKind() == "ConfigMap" && strings.HasPrefix(o.GetName(), "cat-") {
			all = append(all, o)
		}
	}
	return all
}

// checkOrder checks that each ConfigMap of a sequence is created or changed when the one before
// it is ready in the same revision, and deleted when the one after it is gone.
func checkOrder(t *testing.T, changes []sim.Change) {
	t.Helper()
	now := map[int]*unstructured.Unstructured{}
	counts := map[string]int{}
	for _, c := range changes {
		var n int
		o := c.New
		if o == nil {
			o = c.Old
		}
		if _, err := fmt.Sscanf(o.GetName(), "cat-%d", &n); err != nil || o.GetKind() != "ConfigMap" {
			continue
		}
		what := ""
		switch {
		case c.New == nil || c.New.GetDeletionTimestamp() != nil:
			what = "deleted"
			for other := range now {
				if other > n {
					t.Errorf("cat-%d was deleted before cat-%d; there are %v", n, other, slices.Sorted(maps.Keys(now)))
				}
			}
		case c.Old == nil || revision(c.Old) != revision(c.New):
			what = "written"
			if before := now[n-1]; n > 0 && (before == nil || revision(before) != revision(c.New) || before.GetAnnotations()["example.com/ready"] != revision(c.New)) {
				t.Errorf("cat-%d was written before cat-%d was ready in revision %s: %v", n, n-1, revision(c.New), before)
			}
		}
		counts[what]++
		if now[n] = c.New; c.New == nil {
			delete(now, n)
		}
	}
	if counts["written"] < 16 || counts["deleted"] < 9 {
		t.Errorf("there were %v only", counts)
	}
}
