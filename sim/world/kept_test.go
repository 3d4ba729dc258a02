package world_test

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/sim/world"
)

// held returns the names of the ConfigMaps and PersistentVolumeClaims, and the message of
// the Foo's condition Kept.
func held(t *testing.T, w *world.World) (names, kept string) {
	t.Helper()
	var all []string
	for _, o := range w.Objects() {
		switch o.GetKind() {
		case "ConfigMap", "PersistentVolumeClaim":
			all = append(all, o.GetName())
		case "Foo":
			kept = message(o.Object, "Kept")
		}
	}
	slices.Sort(all)
	return strings.Join(all, " "), kept
}

func message(o map[string]any, kind string) string {
	status, _ := o["status"].(map[string]any)
	list, _ := status["conditions"].([]any)
	for _, c := range list {
		if c := c.(map[string]any); c["type"] == kind {
			return c["message"].(string)
		}
	}
	return ""
}

var claimKind = schema.GroupKind{Kind: "PersistentVolumeClaim"}

// each is a child with a ConfigMap for each name in a list.
func each(id, list, more string) string {
	return "  - id: " + id + "\n    forEach: [{name: name, in: \"" + list + "\"}]\n" +
		"    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: '${name}'}" + more + "}\n"
}

const (
	waitsForStatus = ", data: {x: '${self.status.none}'}"
	excluded       = "    when: 'false'\n"
)

func child(id, name, more string) string {
	return "  - id: " + id + "\n" + more + "    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: '" + name + "'}}\n"
}

func claim(name, more string) string {
	return "  - id: data\n" + more + "    template: {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: '" + name +
		"'}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}\n"
}

// TestTakenAway removes children while others wait or fail. Objects that are certainly
// unwanted are pruned. The condition names the others, with the reason.
func TestTakenAway(t *testing.T) {
	waiting := "  - id: waits\n    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: derived}" + waitsForStatus + "}\n"
	for _, test := range []struct {
		name          string
		before, after []string
		want, kept    string
	}{
		{
			"when turns false while a sibling waits",
			[]string{child("a", "a", ""), waiting}, []string{child("a", "a", excluded), waiting}, "", "",
		}, {
			"an element goes while a sibling waits",
			[]string{each("a", "['a', 'b']", ""), waiting}, []string{each("a", "['a']", ""), waiting}, "a", "",
		}, {
			"an element goes while another element waits",
			[]string{each("a", "['a', 'b']", "")},
			[]string{each("a", "['a', 'c']", `, data: {x: "${name == 'c' ? self.status.none : 'x'}"}`)}, "a", "",
		}, {
			"a child is taken out of the rule while a sibling waits",
			[]string{child("a", "a", ""), child("b", "b", ""), waiting}, []string{child("b", "b", ""), waiting}, "b", "",
		}, {
			"a sibling of the kind does not know its name yet",
			[]string{child("a", "a", "")}, []string{child("a", "a", excluded), child("b", "x${self.status.none}", "")},
			"a", `ConfigMap/default/a: child "b" may render it, and waits for self.status.none`,
		}, {
			"a sibling of the kind does not know its elements yet",
			[]string{child("a", "a", "")}, []string{child("a", "a", excluded), each("b", "self.status.none", "")},
			"a", `ConfigMap/default/a: child "b" may render it, and waits for self.status.none`,
		}, {
			"the list itself fails",
			[]string{each("a", "['a', 'b']", "")}, []string{each("a", "[self.spec.none]", "")},
			"a b", `ConfigMap/default/a, ConfigMap/default/b: child "a" may render it, and fails`,
		}, {
			"it is renamed, and cannot be created under the new name yet",
			[]string{child("a", "a", "")}, []string{strings.Replace(child("a", "b", ""), "{name: 'b'}", "{name: 'b'}, data: {x: '${self.status.none}'}", 1)},
			"a", `ConfigMap/default/a: child "a" may replace it and does not exist yet`,
		}, {
			"child and object are renamed, and the new one cannot be rendered",
			[]string{child("a", "a", "")}, []string{strings.Replace(child("b", "b", ""), "{name: 'b'}", "{name: 'b'}, data: {x: '${self.spec.none}'}", 1)},
			"a", `ConfigMap/default/a: child "b" may replace it and does not exist yet`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := load(t, "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n"+fooRule("one", "", test.before...))
			put(t, w, "../../examples/foo/foo.yaml")
			settle(t, w)
			reload(t, w, fooRule("one", "", test.after...))
			if got, kept := held(t, w); got != test.want || kept != test.kept {
				t.Errorf("there are %q, want %q; Kept says %q, want %q", got, test.want, kept, test.kept)
			}
			before := len(w.Writes())
			if err := w.Restart(t.Context()); err != nil {
				t.Fatal(err)
			}
			if n := len(w.Writes()) - before; n != 0 {
				t.Errorf("a restart wrote %d times: %v", n, w.Writes()[before:])
			}
		})
	}
}

// TestOrphansStay stops rendering orphans in every way. They stay, with their marks, and
// are adopted when they are rendered again.
func TestOrphansStay(t *testing.T) {
	orphan := claim("data", "    onDelete: orphan\n")
	rule := fooRule("one", "", orphan, child("a", "a", ""))
	for _, test := range []struct {
		name string
		away func(t *testing.T, w *world.World)
		kept string
	}{
		{"when turns false", func(t *testing.T, w *world.World) {
			reload(t, w, fooRule("one", "", claim("data", "    onDelete: orphan\n"+excluded), child("a", "a", "")))
		}, "PersistentVolumeClaim/default/data: onDelete: orphan"},
		{"the child is taken out of the rule", func(t *testing.T, w *world.World) {
			reload(t, w, fooRule("one", "", child("a", "a", "")))
		}, "PersistentVolumeClaim/default/data: onDelete: orphan"},
		{"it is renamed", func(t *testing.T, w *world.World) {
			reload(t, w, fooRule("one", "", claim("other", "    onDelete: orphan\n"), child("a", "a", "")))
		}, "PersistentVolumeClaim/default/data: onDelete: orphan"},
		{"the element goes", func(t *testing.T, w *world.World) {
			many := strings.Replace(claim("${name}", "    onDelete: orphan\n"), "    onDelete", "    forEach: [{name: name, in: \"['else']\"}]\n    onDelete", 1)
			reload(t, w, fooRule("one", "", many, child("a", "a", "")))
		}, "PersistentVolumeClaim/default/data: onDelete: orphan"},
		{"the resource no longer matches", func(t *testing.T, w *world.World) {
			reload(t, w, strings.Replace(rule, "kind: Foo}", "kind: Foo, when: 'false'}", 1))
		}, ""},
		{"the rule goes", func(t *testing.T, w *world.World) {
			reload(t, w, fooRule("two", "", child("b", "b", "")))
		}, ""},
		{"the resource is deleted", func(t *testing.T, w *world.World) {
			foos := w.Cluster().Client("someone").Resource(fooKind.WithVersion("v1alpha1").GroupVersion().WithResource("foos"))
			if err := foos.Namespace("default").Delete(t.Context(), "example-foo", deleteOptions); err != nil {
				t.Fatal(err)
			}
			settle(t, w)
			put(t, w, "../../examples/foo/foo.yaml")
		}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := load(t, "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n"+rule)
			put(t, w, "../../examples/foo/foo.yaml")
			settle(t, w)
			find := func() string {
				o := w.Cluster().Find(claimKind, "default", "data")
				if o == nil {
					t.Fatal("the orphan is gone")
				}
				return string(o.GetUID())
			}
			before := find()
			test.away(t, w)
			settle(t, w)
			if _, kept := held(t, w); !strings.Contains(kept, test.kept) {
				t.Errorf("Kept says %q, want %q", kept, test.kept)
			}
			if find() != before {
				t.Error("the orphan was created again")
			}
			reload(t, w, rule)
			foo := w.Cluster().Find(fooKind, "default", "example-foo")
			if find() != before || message(foo.Object, "Ready") == "" || message(foo.Object, "Stalled") != "" {
				t.Errorf("it was not taken back: %v", foo.Object["status"])
			}
		})
	}
}

// TestKeptWhilePaused pauses a resource that has a kept object. The condition stays.
func TestKeptWhilePaused(t *testing.T) {
	orphan := strings.Replace(configMap("a"), "    template", "    onDelete: orphan\n    template", 1)
	w := begin(t, fooRule("one", "", orphan))
	reload(t, w, fooRule("one", "", configMap("b")))
	before := message(w.Cluster().Find(fooKind, "default", "example-foo").Object, "Kept")
	if before == "" {
		t.Fatal("nothing is kept")
	}
	merge(t, w, []byte(`{"metadata":{"annotations":{"reconcel.dev/paused":"true"}}}`))
	foo := w.Cluster().Find(fooKind, "default", "example-foo")
	if got := message(foo.Object, "Kept"); got != before || condition(foo, "Ready") != "Unknown Paused" {
		t.Errorf("Kept says %q, want %q; Ready is %s", got, before, condition(foo, "Ready"))
	}
	merge(t, w, []byte(`{"metadata":{"annotations":null}}`))
	if got := message(w.Cluster().Find(fooKind, "default", "example-foo").Object, "Kept"); got != before {
		t.Errorf("after the pause, Kept says %q, want %q", got, before)
	}
}
