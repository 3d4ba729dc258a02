package world_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"reconcel/sim/world"
	"reconcel/test/race"
)

// edits are versions of one file of rules. Most of them render the ConfigMap kept, each in its own way.
var edits = func() map[string]string {
	const (
		kept    = "  - id: kept\n    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: kept}, data: {a: b}}\n"
		another = "  - id: other\n    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: other}}\n"
		goes    = "  onRuleRemoval: delete\n"
		waves   = "  rollout: {maxUnavailable: 1}\n"
		ordered = "  teardown: ordered\n"
	)
	stuck := strings.Replace(another, "    template", "    readyWhen: 'false'\n    template", 1)
	cluster := func(name, children string) string {
		return "- name: " + name + "\n  onRuleRemoval: delete\n  for: cluster\n  allow: {namespaces: [default]}\n  children:\n" + strings.ReplaceAll(children, "metadata: {", "metadata: {namespace: default, ")
	}
	selecting := func(rule string) string { return strings.Replace(rule, "kind: Foo}", "kind: Foo, when: 'false'}", 1) }
	return map[string]string{
		"one child":                       fooRule("one", goes, kept),
		"another name of the rule":        fooRule("two", goes, kept),
		"another id":                      fooRule("one", goes, strings.Replace(kept, "id: kept", "id: renamed", 1)),
		"another text":                    fooRule("one", goes, strings.Replace(kept, "a: b", "a: c", 1)),
		"another kind":                    fooRule("one", goes, strings.Replace(kept, "kind: ConfigMap", "kind: Secret", 1)),
		"an element of a list":            fooRule("one", goes, strings.Replace(strings.Replace(kept, "    template", "    forEach: {n: \"['kept', 'more']\"}\n    template", 1), "name: kept", "name: '${n}'", 1)),
		"two rules":                       fooRule("one", goes, another) + fooRule("two", goes, kept),
		"two rules, the other way around": fooRule("one", goes, kept) + fooRule("two", goes, another),
		"in waves":                        fooRule("one", goes+waves, kept),
		"in waves that stop":              fooRule("one", goes+waves, kept, stuck),
		"two rules, one in waves":         fooRule("one", goes, another) + fooRule("two", goes+waves, kept),
		"two rules, one stops":            fooRule("one", goes+waves, kept) + fooRule("two", goes+waves, strings.ReplaceAll(stuck, "other", "last")),
		"with a finalizer":                fooRule("one", goes+ordered, kept),
		"two with finalizers":             fooRule("one", goes+ordered, another) + fooRule("two", goes+ordered, kept),
		"one selects nothing":             selecting(fooRule("one", goes, kept)) + fooRule("two", goes, kept),
		"one with a finalizer does not":   selecting(fooRule("one", goes+ordered, kept)) + fooRule("two", goes+waves, kept, stuck),
		"excluded":                        fooRule("one", goes, strings.Replace(kept, "    template", "    when: 'false'\n    template", 1)),
		"for another kind":                strings.ReplaceAll(fooRule("one", goes, kept), "apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo", "apiVersion: apps/v1, kind: Deployment"),
		"orphaned":                        fooRule("one", "", kept),
		"for the cluster":                 cluster("one", kept),
		"for the cluster, another name":   cluster("two", kept),
		"for the cluster, two rules":      cluster("one", another) + cluster("two", kept),
	}
}()

// TestEditsKeepObjects replaces rules by others. No object is deleted that all of them render for its resource, whatever else
// changes.
func TestEditsKeepObjects(t *testing.T) {
	race.Skip(t)
	names := make([]string, 0, len(edits))
	made := map[string]map[string]string{} // by the edit: for which resource it makes an object
	for name, text := range edits {
		names = append(names, name)
		made[name] = configsOf(begin(t, text))
	}
	check := func(t *testing.T, chain ...string) {
		t.Helper()
		w := begin(t, edits[chain[0]])
		since := len(w.Writes())
		for _, next := range chain[1:] {
			reload(t, w, edits[next])
		}
		if err := w.Advance(t.Context(), 2*time.Minute); err != nil {
			t.Fatal(err)
		}
		for _, write := range w.Writes()[since:] {
			id := write.Kind.Kind + "/" + write.Name
			kept := write.Verb == "delete" && write.Changed
			for _, name := range chain {
				kept = kept && made[name][id] != "" && made[name][id] == made[chain[0]][id]
			}
			if kept {
				t.Errorf("%s: %s was deleted", strings.Join(chain, ", then "), id)
			}
		}
	}
	for _, a := range names {
		for _, b := range names {
			check(t, a, b)
		}
	}
	const seed, triples = 34, 100
	random := rand.New(rand.NewPCG(seed, seed))
	for range triples {
		check(t, names[random.IntN(len(names))], names[random.IntN(len(names))], names[random.IntN(len(names))])
	}
}

// configsOf returns the ConfigMaps and Secrets of a world, with the kinds of their resources.
func configsOf(w *world.World) map[string]string {
	all := map[string]string{}
	for _, o := range w.Objects() {
		if o.GetKind() != "ConfigMap" && o.GetKind() != "Secret" {
			continue
		}
		owner := o.GetAnnotations()["reconcel.dev/owner"]
		if refs := o.GetOwnerReferences(); len(refs) > 0 {
			owner = refs[0].Kind
		}
		if strings.HasPrefix(owner, "bundle-") {
			owner = "the cluster"
		}
		all[fmt.Sprintf("%s/%s", o.GetKind(), o.GetName())] = owner
	}
	return all
}

// TestHeirsChangeTheirMind lets a rule for the cluster want the object of another one, and leave it again. What neither wants
// is deleted, and what both want stays with its owner.
func TestHeirsChangeTheirMind(t *testing.T) {
	rule := func(name, names string) string {
		return "- name: " + name + "\n  onRuleRemoval: delete\n  for: cluster\n  allow: {namespaces: [default]}\n  children:\n  - id: c\n    forEach: {n: \"" + names + "\"}\n" +
			"    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: '${n}', namespace: default}}\n"
	}
	owner := func(w *world.World, name string) string {
		if o := w.Cluster().Find(configMapKind, "default", name); o != nil {
			return o.GetLabels()["reconcel.dev/rule"]
		}
		return "none"
	}
	w := begin(t, rule("one", "['x', 'y']"), rule("two", "['z']"))
	for i, step := range []struct{ one, two, want string }{
		{"['y']", "['x', 'z']", "two"},
		{"['x', 'y']", "['x', 'z']", "two"},
		{"['x', 'y']", "['z']", "one"},
		{"['y']", "['z']", "none"},
		{"['x', 'y']", "['z']", "one"},
		{"['x', 'y']", "['x', 'z']", "one"},
		{"['y']", "['x', 'z']", "two"},
		{"['y']", "['z']", "none"},
	} {
		reload(t, w, rule("one", step.one), rule("two", step.two))
		if err := w.Advance(t.Context(), 2*time.Minute); err != nil {
			t.Fatal(err)
		}
		if got := owner(w, "x"); got != step.want {
			t.Errorf("after step %d, x is of rule %s, want %s", i+1, got, step.want)
		}
	}
}
