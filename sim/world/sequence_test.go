package world_test

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/rules"
	"reconcel/sim/world"
)

// inOrder is a child with a ConfigMap for each element of a list, one after another.
func inOrder(list, more string) string {
	return fmt.Sprintf("  - id: cats\n    order: sequential\n    forEach: {n: %q}\n%s    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: \"cat-${n}\"}, data: {revision: REVISION}}\n", list, more)
}

func withRevision(text, revision string) string {
	return strings.ReplaceAll(text, "REVISION", revision)
}

// deletions returns the names of the deleted ConfigMaps, in order.
func deletions(w *world.World, after int) string {
	var all []string
	for _, c := range w.Cluster().Changes(after) {
		if c.New == nil && c.Old.GetKind() == "ConfigMap" {
			all = append(all, c.Old.GetName())
		}
	}
	return strings.Join(all, " ")
}

// TestSequenceGoesInReverse takes objects away in every way that leaves the primary, after
// the order of their list changed.
func TestSequenceGoesInReverse(t *testing.T) {
	const before, after = "['a','b','c','d']", "['c','a','d','b']"
	other := "  - id: other\n    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: other}}\n"
	for name, gone := range map[string]struct{ rule, want string }{
		"the list is empty":        {fooRule("one", "", inOrder("[]", "")), "cat-b cat-d cat-a cat-c"},
		"the list is shorter":      {fooRule("one", "", inOrder("['d']", "")), "cat-b cat-a cat-c"},
		"the child is not wanted":  {fooRule("one", "", inOrder(after, "    when: 'false'\n")), "cat-b cat-d cat-a cat-c"},
		"the child is gone":        {fooRule("one", "", other), "cat-b cat-d cat-a cat-c"},
		"the order is gone":        {fooRule("one", "", strings.Replace(inOrder("[]", ""), "    order: sequential\n", "", 1)), "cat-b cat-d cat-a cat-c"},
		"the primary is not meant": {strings.Replace(fooRule("one", "", inOrder(after, "")), "kind: Foo}", "kind: Foo, when: 'false'}", 1), "cat-b cat-d cat-a cat-c"},
	} {
		for _, change := range []string{"", "    onChange: replace\n"} {
			t.Run(name+change, func(t *testing.T) {
				w := load(t, withRevision("apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n"+fooRule("one", "", inOrder(before, change)), "one"))
				put(t, w, "../../examples/foo/foo.yaml")
				reload(t, w, withRevision(fooRule("one", "", inOrder(after, change)), "one"))
				if got := deletions(w, 0); got != "" {
					t.Fatalf("the new order deleted %s", got)
				}
				since := w.Cluster().ChangeCount()
				reload(t, w, withRevision(gone.rule, "one"))
				if got := deletions(w, since); got != gone.want {
					t.Errorf("it deleted %q, want %q", got, gone.want)
				}
			})
		}
	}
}

// TestSequenceWithoutOrder expects the index to go with the order.
func TestSequenceWithoutOrder(t *testing.T) {
	rule := withRevision(fooRule("one", "", inOrder("['a','b']", "")), "one")
	w := load(t, "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n"+rule)
	put(t, w, "../../examples/foo/foo.yaml")
	settle(t, w)
	marks := func() (all []string) {
		for _, o := range catsOf(w) {
			all = append(all, o.GetAnnotations()[rules.AnnotationIndex])
		}
		return all
	}
	if got := marks(); fmt.Sprint(got) != "[0 1]" {
		t.Errorf("the indexes are %q", got)
	}
	reload(t, w, strings.Replace(rule, "    order: sequential\n", "", 1))
	if got := marks(); fmt.Sprintf("%q", got) != `["" ""]` {
		t.Errorf("the indexes are %q", got)
	}
}

// TestSequenceReplacesOneAfterAnother expects replacements to pass an object that is not available,
// if it comes later: a correction must reach those before it.
func TestSequenceReplacesOneAfterAnother(t *testing.T) {
	rule := func(revision string) string {
		return withRevision(fooRule("one", "", inOrder("['a','b','c']", "    onChange: replace\n    readyWhen: annotation(child, 'example.com/ready').orValue('') == 'REVISION'\n")), revision)
	}
	w := load(t, "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n"+rule("one"))
	put(t, w, "../../examples/foo/foo.yaml")
	settle(t, w)
	is := func(want string) {
		t.Helper()
		settle(t, w)
		if got := cats(w); got != want {
			t.Errorf("there are %q, want %q", got, want)
		}
	}
	ready := func() {
		t.Helper()
		makeReady(t, w)
		settle(t, w)
	}
	for range 3 {
		ready()
	}
	is("cat-a:one cat-b:one cat-c:one")
	reload(t, w, rule("two"))
	is("cat-a:two cat-b:one cat-c:one")
	ready()
	is("cat-a:two cat-b:two cat-c:one") // The new revision of b is broken: it does not become ready.
	reload(t, w, rule("three"))
	is("cat-a:three cat-b:two cat-c:one")
	for range 3 {
		ready()
	}
	is("cat-a:three cat-b:three cat-c:three")
}

// TestSequenceBehindAFailure expects those behind an object that fails to wait, and the status to name
// it with its index. Those that exist are kept and repaired.
func TestSequenceBehindAFailure(t *testing.T) {
	const fails = "    failWhen: annotation(child, 'example.com/broken').hasValue()\n"
	rule := func(list, revision string) string {
		return withRevision(fooRule("one", "", inOrder(list, fails)), revision)
	}
	w := load(t, "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n"+rule("['a','b','c']", "one"))
	put(t, w, "../../examples/foo/foo.yaml")
	settle(t, w)
	configMaps := w.Cluster().Client("someone").Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace("default")
	edit := func(name, text string) {
		t.Helper()
		if _, err := configMaps.Patch(t.Context(), name, types.MergePatchType, []byte(text), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		settle(t, w)
	}
	says := func(condition string, parts ...string) {
		t.Helper()
		got := message(w.Cluster().Find(fooKind, "default", "example-foo").Object, condition)
		for _, part := range parts {
			if !strings.Contains(got, part) {
				t.Errorf("%s says %q, without %q", condition, got, part)
			}
		}
	}
	edit("cat-b", `{"metadata":{"annotations":{"example.com/broken":"yes"}}}`)
	reload(t, w, rule("['a','b','c','d']", "one"))
	if got := cats(w); got != "cat-a:one cat-b:one cat-c:one" {
		t.Errorf("there are %q", got)
	}
	says("Stalled", `child "cats"[1]: ConfigMap/default/cat-b: failWhen is true`)
	edit("cat-c", `{"data":{"revision":"drifted"}}`)
	reload(t, w, rule("['a','b','c','d']", "two"))
	if got := cats(w); got != "cat-a:two cat-b:two cat-c:one" {
		t.Errorf("there are %q", got)
	}
	edit("cat-b", `{"metadata":{"annotations":{"example.com/broken":null}}}`)
	if got := cats(w); got != "cat-a:two cat-b:two cat-c:two cat-d:two" {
		t.Errorf("there are %q", got)
	}

	// Two elements with one name fail. Those behind them wait, and so do those behind one that
	// cannot be rendered.
	reload(t, w, rule("['a','b','b','e']", "two"))
	says("Stalled", `child "cats"[1]`, "same kind, namespace and name")
	if got := cats(w); strings.Contains(got, "cat-e") {
		t.Errorf("there are %q", got)
	}
	reload(t, w, strings.Replace(rule("['a','b','c','d','e']", "two"), "revision: two", `revision: "${n == 'd' ? string(1/int('0')) : 'two'}"`, 1))
	says("Stalled", `child "cats"[3]`)
	if got := cats(w); strings.Contains(got, "cat-e") || !strings.Contains(got, "cat-c") {
		t.Errorf("there are %q", got)
	}
}
