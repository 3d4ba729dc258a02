package world_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/engine/inventory"
	"reconcel/sim/world"
)

// TestHeldChanges makes changes of all sorts that delete too much. All objects stay.
func TestHeldChanges(t *testing.T) {
	const parts = "  - id: cats\n    forEach: {n: lists.range(20)}\n    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: \"cat-${n}\"}, data: {revision: one}}\n"
	plain := fooRule("one", "", parts) + "  onRuleRemoval: delete\n"
	for _, c := range []struct{ name, old, new string }{
		{"an emptied list", "lists.range(20)", "lists.range(0)"},
		{"other names", "cat-${n}", "dog-${n}"},
		{"another kind", "kind: ConfigMap", "kind: Secret"},
		{"another id and fewer objects", "id: cats\n    forEach: {n: lists.range(20)}", "id: dogs\n    forEach: {n: lists.range(2)}"},
		{"a condition", "kind: Foo}", "kind: Foo, when: 'false'}"},
		{"a selector", "kind: Foo}", "kind: Foo, selector: {matchLabels: {a: b}}}"},
		{"other namespaces", "kind: Foo}", "kind: Foo, namespaces: [other]}"},
		{"an excluded child", "    forEach", "    when: 'false'\n    forEach"},
		{"a removed child", parts, "  - id: other\n    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: other}}\n"},
		{"a strict limit", "lists.range(20)", "lists.range(19)"},
		{"another kind of primaries", "apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo}", "apiVersion: apps/v1, kind: Deployment}"},
	} {
		for name, before := range map[string]string{c.name: plain, c.name + ", with a finalizer": plain + "  teardown: ordered\n"} {
			t.Run(name, func(t *testing.T) {
				w := load(t, "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n"+before)
				put(t, w, "../../examples/foo/foo.yaml")
				settle(t, w)
				after := strings.Replace(before, c.old, c.new, 1)
				if after == before {
					t.Fatal("nothing changes")
				}
				if c.name == "a strict limit" {
					after += "  rollout: {maxDeletions: 0}\n"
				}
				reload(t, w, after)
				if got := revisions(w); got != "map[one:20]" {
					t.Errorf("there are %s", got)
				}
				again(t, w)
				if err := w.Advance(t.Context(), time.Hour); err != nil {
					t.Fatal(err)
				}
				if got := revisions(w); got != "map[one:20]" {
					t.Errorf("after a restart there are %s", got)
				}
				reload(t, w, before)
				if foo := w.Cluster().Find(fooKind, "default", "example-foo"); condition(foo, "Held") != "" || condition(foo, "Ready") != "True Reconciled" {
					t.Errorf("the former rule leaves %v", foo.Object["status"])
				}
			})
		}
	}
}

// TestHeldBundles changes a rule for the cluster whose ConfigMap is gone. Only what deletes much is
// held.
func TestHeldBundles(t *testing.T) {
	const before = "- name: one\n  onRuleRemoval: delete\n  for: cluster\n  children:\n  - id: cats\n    forEach: {n: lists.range(20)}\n" +
		"    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: \"cat-${n}\", namespace: default}, data: {revision: one}}\n  allow: {namespaces: [default]}\n"
	for _, c := range []struct{ name, old, new, want string }{
		{"an emptied list", "lists.range(20)", "lists.range(0)", "map[one:20]"},
		{"other names", "cat-${n}", "dog-${n}", "map[one:20]"},
		{"another text", "revision: one", "revision: two", "map[two:20]"},
		{"a renamed rule", "name: one\n", "name: two\n", "map[one:20]"},
		{"a renamed rule with another text", "name: one\n", "name: two\n", "map[two:20]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := load(t, "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n"+before)
			settle(t, w)
			if got := revisions(w); got != "map[one:20]" {
				t.Fatalf("before, there are %s", got)
			}
			after := strings.Replace(before, c.old, c.new, 1)
			if strings.HasSuffix(c.name, "rule with another text") {
				after = strings.Replace(after, "revision: one", "revision: two", 1)
			}
			bundle := w.Cluster().Client("someone").Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace("kube-system")
			if err := bundle.Delete(t.Context(), "reconcel-bundle-one", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			reload(t, w, after)
			if err := w.Advance(t.Context(), time.Hour); err != nil {
				t.Fatal(err)
			}
			if got := revisions(w); got != c.want {
				t.Errorf("there are %s, want %s", got, c.want)
			}
		})
	}
}

// TestHeldWithoutText holds a change although the inventory does not have the former rule: then
// nothing of the rule is written, not even its status.
func TestHeldWithoutText(t *testing.T) {
	before := heldChange(20, "one") + "  status: {availableReplicas: 1}\n"
	w := load(t, before)
	put(t, w, "../../examples/foo/foo.yaml")
	settle(t, w)
	inventories := w.Cluster().Client("someone").Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace("kube-system")
	if _, err := inventories.Patch(t.Context(), "reconcel-revisions", types.MergePatchType, []byte(`{"binaryData":null}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	changing := strings.NewReplacer("range(20)", "range(2)", "revision: one", "revision: two", "availableReplicas: 1", "availableReplicas: 2").Replace(before)
	if err := w.RestartWith(t.Context(), parsed(t, changing)); err != nil {
		t.Fatal(err)
	}
	settle(t, w)
	foo := w.Cluster().Find(fooKind, "default", "example-foo")
	status, _ := foo.Object["status"].(map[string]any)
	if got := revisions(w); got != "map[one:20]" || condition(foo, "Held") != "True TooManyDeletions" || status["availableReplicas"] != int64(1) {
		t.Errorf("there are %s, and the status is %v", got, status)
	}
	if got := condition(foo, "Ready"); got != "False TooManyDeletions" {
		t.Errorf("Ready is %s, although the rule does nothing", got)
	}
}

// TestTwoHeldRules holds two rules of one resource. Its status goes on to be written.
func TestTwoHeldRules(t *testing.T) {
	two := func(n int) string {
		second := strings.NewReplacer("name: one", "name: two", "id: cats", "id: dogs", "cat-", "dog-",
			"  status: {availableReplicas: '${self.spec.replicas}'}\n", "").Replace(fooRuleOf(n))
		return "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n" + fooRuleOf(n) + second
	}
	w := load(t, two(20))
	put(t, w, "../../examples/foo/foo.yaml")
	settle(t, w)
	if err := w.Reload(t.Context(), parsed(t, two(2))); err != nil {
		t.Fatal(err)
	}
	merge(t, w, []byte(`{"spec":{"replicas":5}}`))
	foo := w.Cluster().Find(fooKind, "default", "example-foo")
	status, _ := foo.Object["status"].(map[string]any)
	if condition(foo, "Held") != "True TooManyDeletions" || status["availableReplicas"] != int64(5) {
		t.Errorf("the status is %v", status)
	}
	if text := fmt.Sprint(status); !strings.Contains(text, `rule "one"`) || !strings.Contains(text, `rule "two"`) {
		t.Errorf("Held does not name both rules: %s", text)
	}
}

// fooRuleOf is a rule with n objects and a status.
func fooRuleOf(n int) string {
	return fooRule("one", "  status: {availableReplicas: '${self.spec.replicas}'}\n", fmt.Sprintf(
		"  - id: cats\n    forEach: {n: lists.range(%d)}\n    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: \"cat-${n}\"}, data: {revision: one}}\n", n))
}

// TestHeldWhilePaused counts the objects of a paused primary: they would go when it resumes.
func TestHeldWhilePaused(t *testing.T) {
	w := load(t, heldChange(20, "one"))
	put(t, w, "../../examples/foo/foo.yaml")
	settle(t, w)
	pause := func(value string) {
		t.Helper()
		patch := []byte(`{"metadata":{"annotations":{"reconcel.dev/paused":` + value + `}}}`)
		if _, err := w.Cluster().Client("someone").Resource(fooResource).Namespace("default").Patch(t.Context(), "example-foo", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		settle(t, w)
	}
	pause(`"true"`)
	if err := w.Reload(t.Context(), parsed(t, heldChange(2, "two"))); err != nil {
		t.Fatal(err)
	}
	pause("null")
	if got := revisions(w); got != "map[one:20]" {
		t.Errorf("there are %s", got)
	}
}

// TestHeldWithoutInventory deletes the ConfigMap of the inventory while a change is held. It stays held.
func TestHeldWithoutInventory(t *testing.T) {
	w := load(t, heldChange(20, "one"))
	put(t, w, "../../examples/foo/foo.yaml")
	settle(t, w)
	if err := w.Reload(t.Context(), parsed(t, heldChange(2, "two"))); err != nil {
		t.Fatal(err)
	}
	inventories := w.Cluster().Client("someone").Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace("kube-system")
	if err := inventories.Delete(t.Context(), "reconcel-inventory", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"two", "three"} {
		if err := w.Reload(t.Context(), parsed(t, heldChange(2, text))); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Advance(t.Context(), time.Hour); err != nil {
		t.Fatal(err)
	}
	if got := revisions(w); got != "map[one:20]" {
		t.Errorf("there are %s", got)
	}
}

// TestRolloutRemembersKinds restarts in a rollout that has not made objects of its new kind yet. They are found when the rule
// is removed.
func TestRolloutRemembersKinds(t *testing.T) {
	secrets := func(w *world.World) (n int) {
		for _, o := range w.Objects() {
			if o.GetKind() == "Secret" {
				n++
			}
		}
		return n
	}
	rule := func(more string) string {
		return fooRule("one", "  onRuleRemoval: delete\n  rollout: {maxUnavailable: 1}\n",
			"  - id: cats\n    readyWhen: 'false'\n    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: cat}, data: {revision: one}}\n"+more)
	}
	w := begin(t, rule(""))
	reload(t, w, rule("  - id: late\n    when: self.spec.replicas == 3\n    template: {apiVersion: v1, kind: Secret, metadata: {name: late}}\n"))
	again(t, w)
	if err := w.Advance(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	merge(t, w, []byte(`{"spec":{"replicas":3}}`))
	if err := w.Advance(t.Context(), time.Second); err != nil {
		t.Fatal(err)
	}
	if n := secrets(w); n != 1 {
		t.Fatalf("there are %d Secrets", n)
	}
	reload(t, w, forService)
	if err := w.Advance(t.Context(), time.Hour); err != nil {
		t.Fatal(err)
	}
	if n := secrets(w); n != 0 {
		t.Errorf("the removed rule leaves %d Secrets", n)
	}
}

// TestRolloutPassesPausedResources pauses resources, and changes a rule in groups. The others get the new version.
func TestRolloutPassesPausedResources(t *testing.T) {
	rule := func(text string) string {
		return fooRule("one", "  rollout: {maxUnavailable: 1}\n",
			"  - id: cats\n    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: 'cat-${self.metadata.name}'}, data: {revision: "+text+"}}\n")
	}
	w := begin(t, rule("one"))
	for i := range 5 {
		foo := w.Cluster().Find(fooKind, "default", "example-foo").DeepCopy()
		foo.SetName(fmt.Sprintf("foo-%d", i))
		foo.SetUID("")
		foo.SetResourceVersion("")
		if i%2 == 0 {
			foo.SetAnnotations(map[string]string{"reconcel.dev/paused": "true"})
		}
		if _, err := w.Cluster().Put(foo); err != nil {
			t.Fatal(err)
		}
	}
	settle(t, w)
	reload(t, w, rule("two"))
	if err := w.Advance(t.Context(), time.Hour); err != nil {
		t.Fatal(err)
	}
	if got := revisions(w); got != "map[two:3]" {
		t.Errorf("there are %s", got)
	}
}

// TestUnlistedWhileRulesChange restarts with other rules while a kind cannot be listed. What they delete is counted later: a
// small change takes effect then, and a large one is held.
func TestUnlistedWhileRulesChange(t *testing.T) {
	cats := func(n int) string {
		return fmt.Sprintf("  - id: cats\n    forEach: {n: lists.range(%d)}\n    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: \"cat-${n}\"}, data: {revision: one}}\n", n)
	}
	before := fooRule("one", "  onRuleRemoval: delete\n", cats(20))
	for name, c := range map[string]struct{ after, want string }{
		"fewer objects":        {fooRule("one", "  onRuleRemoval: delete\n", cats(19)), "map[one:19]"},
		"far fewer objects":    {fooRule("one", "  onRuleRemoval: delete\n", cats(2)), "map[one:20]"},
		"a removed child":      {fooRule("one", "  onRuleRemoval: delete\n"), "map[one:20]"},
		"a removed rule":       {forService, "map[one:20]"},
		"a rule for a service": {strings.Replace(before, "apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo", "apiVersion: v1, kind: Service", 1), "map[one:20]"},
	} {
		for _, down := range []schema.GroupKind{{Kind: "ConfigMap"}, fooKind} {
			t.Run(name+" and no "+down.Kind, func(t *testing.T) {
				w := begin(t, before)
				serve := w.Unserve(down)
				if err := w.RestartWith(t.Context(), parsed(t, "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n"+c.after)); err != nil {
					t.Fatal(err)
				}
				if err := w.Advance(t.Context(), time.Minute); err != nil {
					t.Fatal(err)
				}
				if got := revisions(w); got != "map[one:20]" {
					t.Errorf("while they cannot be listed, there are %s", got)
				}
				serve()
				if err := w.Advance(t.Context(), time.Hour); err != nil {
					t.Fatal(err)
				}
				if got := revisions(w); got != c.want {
					t.Errorf("after that, there are %s, want %s", got, c.want)
				}
			})
		}
	}
}

// TestHeldRemoval removes a rule that has a limit of its own, while the controller runs and while it does not.
func TestHeldRemoval(t *testing.T) {
	for _, c := range []struct {
		objects     int
		limit, want string
	}{
		{5, "0", "map[one:5]"}, {5, "5", "map[]"}, {20, "19", "map[one:20]"}, {20, "50%", "map[one:20]"}, {20, "100%", "map[]"},
	} {
		before := fooRule("one", "  onRuleRemoval: delete\n  rollout: {maxDeletions: "+c.limit+"}\n", fmt.Sprintf(
			"  - id: cats\n    forEach: {n: lists.range(%d)}\n    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: \"cat-${n}\"}, data: {revision: one}}\n", c.objects))
		after := parsed(t, "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n"+forService)
		for name, change := range map[string]func(*world.World) error{
			"running": func(w *world.World) error { return w.Reload(t.Context(), after) },
			"stopped": func(w *world.World) error { return w.RestartWith(t.Context(), after) },
		} {
			t.Run(fmt.Sprintf("%d objects, at most %s, %s", c.objects, c.limit, name), func(t *testing.T) {
				w := begin(t, before)
				if err := change(w); err != nil {
					t.Fatal(err)
				}
				if err := w.Advance(t.Context(), time.Hour); err != nil {
					t.Fatal(err)
				}
				if got := revisions(w); got != c.want {
					t.Errorf("there are %s, want %s", got, c.want)
				}
			})
		}
	}
}

// TestHeldSharedObjects makes changes after which some or all of the resources that share objects no longer want them.
// Each object counts once, and only if no resource wants it any more.
func TestHeldSharedObjects(t *testing.T) {
	const child = "  - id: cats\n    ifExists: share\n    forEach: {n: lists.range(1)}\n" +
		"    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: \"cat-${n}\"}, data: {revision: one}}\n"
	one := fooRule("one", "  onRuleRemoval: delete\n", child)
	many := strings.Replace(one, "range(1)", "range(12)", 1)
	const elsewhere = "- name: elsewhere\n  for: {apiVersion: v1, kind: Service}\n"
	for _, c := range []struct {
		name, before, old, new string
		foos                   int
		want, held             string
	}{
		{name: "one object of many, without the child", before: one, old: child, foos: 12, want: "map[]"},
		{name: "one object of many, without the rule", before: one, old: one, new: elsewhere, foos: 12, want: "map[]"},
		{name: "one object of many, with another selector", before: one, old: "kind: Foo}", new: "kind: Foo, selector: {matchLabels: {a: b}}}", foos: 12, want: "map[]"},
		{name: "many objects, without the child", before: many, old: strings.Replace(child, "range(1)", "range(12)", 1), foos: 2, want: "map[one:12]", held: "would delete 12 of 12 objects: "},
		{name: "many objects, without the rule", before: many, old: many, new: elsewhere, foos: 2, want: "map[one:12]", held: "would delete 12 of 12 objects: "},
		{name: "many objects, with a rule in place", before: many, old: many, new: fooRule("two", ""), foos: 2, want: "map[one:12]", held: "would delete 12 of 12 objects: "},
		{name: "many objects, with another selector", before: many, old: "kind: Foo}", new: "kind: Foo, selector: {matchLabels: {a: b}}}", foos: 2, want: "map[one:12]", held: "would delete 12 of 12 objects: "},
		{name: "many objects, which one resource leaves", before: many, old: "kind: Foo}", new: "kind: Foo, when: self.metadata.name != 'foo-0'}", foos: 2, want: "map[one:12]"},
		{name: "many objects, which the last one keeps", before: strings.Replace(many, "ifExists", "onDelete: orphan\n    ifExists", 1), old: "range(12)", new: "range(0)", foos: 2, want: "map[one:12]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := shareBy(t, "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n"+c.before)
			for i := range c.foos {
				w.create(fmt.Sprint("foo-", i), "")
			}
			settle(t, w.World)
			reload(t, w.World, strings.Replace(c.before, c.old, c.new, 1))
			recorded, err := inventory.New(w.Cluster().Client("someone"), inventory.Options{Namespace: "kube-system", Installation: world.Controller}).Recorded(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			message := ""
			for _, h := range recorded.Held {
				message += h.Message
			}
			if !strings.Contains(message, c.held) || message != "" && c.held == "" {
				t.Errorf("held is %q, want %q", message, c.held)
			}
			if err := w.Advance(t.Context(), time.Hour); err != nil {
				t.Fatal(err)
			}
			if got := revisions(w.World); got != c.want {
				t.Errorf("there are %s, want %s", got, c.want)
			}
		})
	}
}

// TestCountLeavesNoReads holds a change whose rules would read another ConfigMap. The resource is not reconciled when that ConfigMap
// changes: only the rules that are counted, and do not run, read it.
func TestCountLeavesNoReads(t *testing.T) {
	rule := func(n int, read string) string {
		return fooRule("one", "  lookups:\n  - {id: look, apiVersion: v1, kind: ConfigMap, name: "+read+"}\n", fmt.Sprintf("  - id: cats\n"+
			"    forEach: {n: lists.range(%d)}\n    template: {apiVersion: v1, kind: Secret, metadata: {name: \"cat-${n}\"}, stringData: {a: '${look.data.a}'}}\n", n))
	}
	log := &strings.Builder{}
	w := loadWith(t, "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n"+rule(20, "read"),
		world.Options{Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	put(t, w, "../../examples/foo/foo.yaml")
	for _, name := range []string{"read", "counted"} {
		add(t, w, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"`+name+`","namespace":"default"},"data":{"a":"x"}}`)
	}
	settle(t, w)
	reload(t, w, rule(2, "counted"))
	advance(t, w, time.Hour)
	reconciled := func(name string) int {
		t.Helper()
		log.Reset()
		change(t, w, configMapResource, name, `{"data":{"a":"y"}}`)
		settle(t, w)
		return strings.Count(log.String(), "msg=reconciled")
	}
	if n := reconciled("read"); n == 0 {
		t.Error("the resource is not reconciled when a ConfigMap changes that its rule reads")
	}
	if n := reconciled("counted"); n > 0 {
		t.Errorf("it is reconciled %d times when a ConfigMap changes that no active rule reads", n)
	}
}
