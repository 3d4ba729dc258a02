package world_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"reconcel/sim/world"
	"reconcel/test/race"
)

// TestLargeCollection creates, changes and deletes 2,000 objects of one primary in memory, and logs the
// time and memory.
func TestLargeCollection(t *testing.T) {
	race.Skip(t)
	const objects = 2000
	child := func(n int, text string) string {
		return fmt.Sprintf("  - id: cats\n    forEach: {n: lists.range(%d)}\n    maxObjects: %d\n"+
			"    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: \"cat-${n}\"}, data: {revision: %s}}\n", n, objects, text)
	}
	rule := func(n int, text string) string {
		return fooRule("one", "", child(n, text)) + "  status:\n    availableReplicas: ${size(existing(cats))}\n"
	}
	w := loadWith(t, "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n"+rule(objects, "one"), world.Options{MaxDeletions: new(intstr.FromString("100%"))})
	step := func(what string, do func(), count int, want string) {
		t.Helper()
		var after runtime.MemStats
		start := time.Now()
		do()
		settle(t, w)
		took := time.Since(start)
		runtime.GC()
		runtime.ReadMemStats(&after)
		all := catsOf(w)
		for _, o := range all {
			if got := revision(o); got != want {
				t.Fatalf("%s: %s has the revision %q, want %q", what, o.GetName(), got, want)
			}
		}
		if len(all) != count {
			t.Fatalf("%s: there are %d objects, want %d: %s", what, len(all), count, condition(w.Cluster().Find(fooKind, "default", "example-foo"), "Ready"))
		}
		t.Logf("%s: %s, %d MiB in use", what, took.Round(time.Millisecond), after.HeapInuse>>20)
	}
	step("create", func() { put(t, w, "../../examples/foo/foo.yaml") }, objects, "one")
	step("change", func() { reload(t, w, rule(objects, "two")) }, objects, "two")
	step("shrink", func() { reload(t, w, rule(10, "two")) }, 10, "two")
	reload(t, w, rule(objects+1, "two"))
	if got := message(w.Cluster().Find(fooKind, "default", "example-foo").Object, "Stalled"); !strings.Contains(got, "more than 2000 objects") && !strings.Contains(got, "more than 2000 elements") {
		t.Errorf("2,001 objects: %q", got)
	}
	if got := len(catsOf(w)); got != 10 {
		t.Errorf("there are %d objects, want the 10 of before", got)
	}
}
