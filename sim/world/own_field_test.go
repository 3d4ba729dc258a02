package world_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"reconcel/sim"
	"reconcel/sim/world"
)

var deploymentResource = deploymentKind.GroupVersion().WithResource("deployments")

// tolerating adds a toleration to those that others write, and a label. SELF is what it reads them from.
const tolerating = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: tolerating
  onRuleRemoval: delete
  for: {apiVersion: apps/v1, kind: Deployment, selector: {matchLabels: {tolerating: "yes"}}}
  lookups: [{id: me, apiVersion: apps/v1, kind: Deployment, name: "${self.metadata.name}"}]
  let: {before: "SELF.spec.template.spec.?tolerations.orValue([])"}
  patch:
    metadata: {labels: {extended: "yes"}}
    spec: {template: {spec: {tolerations: '${before.exists(t, t.?key == optional.of("ours")) ? before : before + [{"key": "ours", "operator": "Exists"}]}'}}}
`

// tolerated is a Deployment with these tolerations.
func tolerated(keys ...string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": "web", "namespace": "default", "labels": map[string]any{"tolerating": "yes"}},
		"spec": map[string]any{
			"replicas": int64(1), "selector": map[string]any{"matchLabels": map[string]any{"app": "web"}},
			"template": map[string]any{
				"metadata": map[string]any{"labels": map[string]any{"app": "web"}},
				"spec":     map[string]any{"containers": []any{map[string]any{"name": "c", "image": "busybox"}}},
			},
		},
	}}
	if len(keys) > 0 {
		tolerate(u, keys...)
	}
	return u
}

func tolerate(u *unstructured.Unstructured, keys ...string) {
	list, _, _ := unstructured.NestedSlice(u.Object, "spec", "template", "spec", "tolerations")
	for _, key := range keys {
		list = append(list, map[string]any{"key": key, "operator": "Exists"})
	}
	_ = unstructured.SetNestedSlice(u.Object, list, "spec", "template", "spec", "tolerations")
}

// tolerations returns the keys of the tolerations of the Deployment, and its label.
func tolerations(w *world.World) string {
	u := w.Cluster().Find(deploymentKind.GroupKind(), "default", "web")
	list, _, _ := unstructured.NestedSlice(u.Object, "spec", "template", "spec", "tolerations")
	var keys []string
	for _, t := range list {
		keys = append(keys, t.(map[string]any)["key"].(string))
	}
	return strings.Join(append(keys, u.GetLabels()["extended"]), " ")
}

// edit changes the Deployment as kubectl edit does.
func edit(t *testing.T, w *world.World, change func(*unstructured.Unstructured)) {
	t.Helper()
	client := w.Cluster().Client("someone").Resource(deploymentResource).Namespace("default")
	u, err := client.Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	change(u)
	if _, err := client.Update(t.Context(), u, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestPatchUndoesNoWrite has another writer change the list that a patch extends, before each reconciliation and once
// more right before the write that it leads to.
func TestPatchUndoesNoWrite(t *testing.T) {
	for _, self := range []string{"self", "me"} {
		t.Run(self, func(t *testing.T) {
			w := load(t, strings.ReplaceAll(tolerating, "SELF", self))
			race := &racingWrites{resource: "deployments"}
			w.Wrap(func(c dynamic.Interface) dynamic.Interface { race.Interface = c; return race })
			if err := w.Restart(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Cluster().Put(tolerated()); err != nil {
				t.Fatal(err)
			}
			settle(t, w)
			for i := range 200 {
				race.before = func() { edit(t, w, func(u *unstructured.Unstructured) { tolerate(u, "late") }) }
				edit(t, w, func(u *unstructured.Unstructured) {
					unstructured.RemoveNestedField(u.Object, "spec", "template", "spec", "tolerations")
					tolerate(u, fmt.Sprint("u", i))
				})
				settle(t, w)
				if got, want := tolerations(w), fmt.Sprintf("u%d late ours yes", i); got != want {
					t.Fatalf("try %d: %s, want %s", i, got, want)
				}
				w.Pass(time.Second)
			}
		})
	}
}

// TestPatchedFieldStays deselects the Deployment, removes the rule, and gives up an apply of an earlier version.
func TestPatchedFieldStays(t *testing.T) {
	rule := strings.ReplaceAll(tolerating, "SELF", "self")
	constant := rule[:strings.Index(rule, "  patch:")] +
		"  patch: {metadata: {labels: {extended: \"yes\"}}, spec: {template: {spec: {tolerations: [{key: ours, operator: Exists}]}}}}\n"
	for name, c := range map[string]struct {
		before string
		leave  func(w *world.World)
	}{
		"deselected": {leave: func(w *world.World) {
			edit(t, w, func(u *unstructured.Unstructured) {
				u.SetLabels(map[string]string{"tolerating": "no", "extended": "yes"})
			})
		}},
		"deselected after an apply": {before: constant, leave: func(w *world.World) {
			edit(t, w, func(u *unstructured.Unstructured) {
				u.SetLabels(map[string]string{"tolerating": "no", "extended": "yes"})
			})
		}},
		"the field leaves the patch": {leave: func(w *world.World) {
			reload(t, w, strings.Replace(rule[strings.Index(rule, "- name"):strings.Index(rule, "    spec: {template")], `extended: "yes"`, `extra: "yes"`, 1))
		}},
		"the rule is removed": {leave: func(w *world.World) { reload(t, w, fooRule("other", "", configMap("a"))) }},
	} {
		t.Run(name, func(t *testing.T) {
			first := rule
			if c.before != "" {
				first = c.before
			}
			w := load(t, first)
			u := tolerated("theirs")
			if c.before != "" {
				u = tolerated()
			}
			if _, err := w.Cluster().Put(u); err != nil {
				t.Fatal(err)
			}
			settle(t, w)
			want := "theirs ours"
			if c.before != "" {
				want = "ours"
				reload(t, w, rule[strings.Index(rule, "- name"):])
				settle(t, w)
			}
			if got := tolerations(w); got != want+" yes" {
				t.Fatalf("first: %s", got)
			}
			c.leave(w)
			advance(t, w, 10*time.Minute)
			if got := strings.TrimSpace(tolerations(w)); got != want {
				t.Errorf("then: %s, want %s", got, want)
			}
		})
	}
}

// ownRule is a rule for Foo with a patch.
func ownRule(patch string) string {
	return "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n- name: own\n" +
		"  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo}\n  lookups:\n" +
		"  - {id: me, apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo, name: \"${self.metadata.name}\"}\n" +
		"  - {id: named, apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo, name: example-foo}\n  patch: " + patch + "\n"
}

// TestUnstablePatch has patches that change each time. None of them is written, and the Foo says what happens.
func TestUnstablePatch(t *testing.T) {
	for _, patch := range []string{
		`{spec: {replicas: "${self.spec.replicas + 1}"}}`,
		`{spec: {replicas: "${me.spec.replicas + 1}"}}`,
		`{spec: {replicas: "${named.spec.replicas + 1}"}}`,
		`{metadata: {annotations: {n: "${string(int(self.metadata.?annotations[?'n'].orValue('0')) + 1)}"}}}`,
		`{metadata: {annotations: {seen: "${self.metadata.?annotations[?'seen'].orValue('') + 'x'}"}}}`,
		`{spec: {deploymentName: "${self.spec.deploymentName == 'example-foo' ? 'b' : self.spec.deploymentName == 'b' ? 'a' : 'b'}"}}`,
	} {
		t.Run(patch, func(t *testing.T) {
			w := load(t, ownRule(patch))
			put(t, w, "../../examples/foo/foo.yaml")
			settle(t, w)
			advance(t, w, time.Hour)
			if got := ready(w); !strings.HasPrefix(got, "False RuleError: ") || !strings.Contains(got, ": is computed from itself, and changes each time; write an") {
				t.Errorf("Ready is %s", got)
			}
			foo := w.Cluster().Find(fooKind, "default", "example-foo")
			if spec := fmt.Sprint(foo.Object["spec"]); spec != "map[deploymentName:example-foo replicas:1]" || len(foo.GetAnnotations()) > 0 {
				t.Errorf("written: %s, %v", spec, foo.GetAnnotations())
			}
			if !slices.ContainsFunc(w.Cluster().Events(), func(e sim.Event) bool { return strings.Contains(e.Note, "changes each time") }) {
				t.Error("no Event says so")
			}
		})
	}
}

// TestStablePatches has patches that read their own fields, and keep their own result.
func TestStablePatches(t *testing.T) {
	for patch, want := range map[string]string{
		`{spec: {replicas: "${self.spec.replicas < 3 ? 3 : self.spec.replicas}"}}`:                                                               "map[deploymentName:example-foo replicas:3] map[]",
		`{spec: {replicas: "${named.spec.replicas < 3 ? 3 : me.spec.replicas}"}}`:                                                                "map[deploymentName:example-foo replicas:3] map[]",
		`{spec: {replicas: "${self.spec.replicas < 3 ? optional.of(3) : optional.none()}"}}`:                                                     "map[deploymentName:example-foo replicas:3] map[]",
		`{spec: {replicas: "${self.spec.replicas}"}}`:                                                                                            "map[deploymentName:example-foo replicas:1] map[]",
		`{metadata: {annotations: {first: "${self.metadata.?annotations[?'first'].orValue(string(self.spec.replicas))}"}}, spec: {replicas: 4}}`: "map[deploymentName:example-foo replicas:4] map[first:1]",
	} {
		t.Run(patch, func(t *testing.T) {
			w := load(t, ownRule(patch))
			put(t, w, "../../examples/foo/foo.yaml")
			settle(t, w)
			advance(t, w, time.Hour)
			foo := w.Cluster().Find(fooKind, "default", "example-foo")
			if got := fmt.Sprint(foo.Object["spec"], foo.GetAnnotations()); !strings.HasPrefix(ready(w), "True") || got != want {
				t.Errorf("%s, %s, want %s", ready(w), got, want)
			}
			before := len(w.Writes())
			if err := w.Restart(t.Context()); err != nil {
				t.Fatal(err)
			}
			advance(t, w, time.Hour)
			for _, write := range w.Writes()[before:] {
				t.Errorf("written after a restart: %+v", write)
			}
		})
	}
}

// TestWebhookAndOwnField has a webhook change what a patch writes into a list that it reads.
func TestWebhookAndOwnField(t *testing.T) {
	rename := func(u *unstructured.Unstructured) {
		list, _, _ := unstructured.NestedSlice(u.Object, "spec", "template", "spec", "tolerations")
		for _, item := range list {
			if item := item.(map[string]any); item["key"] == "ours" {
				item["key"] = "renamed"
			}
		}
		_ = unstructured.SetNestedSlice(u.Object, list, "spec", "template", "spec", "tolerations")
	}
	add := strings.ReplaceAll(tolerating, "SELF", "self")
	replace := add[:strings.Index(add, "'${before")] +
		`'${before.filter(t, !(t.?key.orValue("") in ["ours", "renamed"])) + [{"key": "ours", "operator": "Exists"}]}'}}}` + "\n"
	for name, c := range map[string]struct{ rules, want, event string }{
		"it never finds its item": {add, "theirs renamed", "the API server changes what is written"},
		"it replaces it":          {replace, "theirs renamed", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := load(t, c.rules)
			m := &mutated{resource: "deployments", change: rename, as: w.Cluster().Client("webhook")}
			w.Wrap(func(c dynamic.Interface) dynamic.Interface { m.Interface = c; return m })
			if err := w.Restart(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Cluster().Put(tolerated("theirs")); err != nil {
				t.Fatal(err)
			}
			for range 60 {
				advance(t, w, time.Minute)
			}
			if got := tolerations(w); !strings.HasPrefix(got, c.want) || strings.Count(got, "renamed") != 1 {
				t.Errorf("%s, want %s", got, c.want)
			}
			told := slices.ContainsFunc(w.Cluster().Events(), func(e sim.Event) bool {
				return c.event != "" && strings.Contains(e.Note, c.event)
			})
			if told != (c.event != "") {
				t.Errorf("the Events are %v", w.Cluster().Events())
			}
		})
	}
}

// TestKilledWhilePatching kills the controller before and after the write of a patch that reads its own field, while
// another writer changes it.
func TestKilledWhilePatching(t *testing.T) {
	for _, committed := range []bool{false, true} {
		for at := 1; at < 6; at++ {
			t.Run(fmt.Sprint(committed, at), func(t *testing.T) {
				w := load(t, strings.ReplaceAll(tolerating, "SELF", "self"))
				settle(t, w)
				l := &span{life: &life{committed: committed}, left: at, in: "default"}
				w.Wrap(func(c dynamic.Interface) dynamic.Interface { return limited{c, l} })
				if err := w.Restart(t.Context()); err != nil {
					t.Fatal(err)
				}
				if _, err := w.Cluster().Put(tolerated("a")); err != nil {
					t.Fatal(err)
				}
				_ = w.Advance(t.Context(), time.Second) // It fails if the controller is killed.
				edit(t, w, func(u *unstructured.Unstructured) { tolerate(u, "b") })
				again(t, w)
				settle(t, w)
				if got := strings.Fields(tolerations(w)); len(got) != 4 || !slices.Contains(got, "a") || !slices.Contains(got, "b") || !slices.Contains(got, "ours") {
					t.Errorf("%v", got)
				}
			})
		}
	}
}

// TestTwoRulesOfOneField has a child of a Foo, which is itself the primary of a rule that never lets it have less than 5
// replicas. The two write less and less often, and say so.
func TestTwoRulesOfOneField(t *testing.T) {
	w := load(t, `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: foo
  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo}
  children:
  - id: web
    template:
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: web}
      spec: {replicas: "${self.spec.replicas}", selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: busybox}]}}}
- name: least
  for: {apiVersion: apps/v1, kind: Deployment}
  patch: {spec: {replicas: "${self.spec.replicas < 5 ? 5 : self.spec.replicas}"}}
`)
	put(t, w, "../../examples/foo/foo.yaml")
	pass := func() {
		for range 40 {
			advance(t, w, 15*time.Second)
		}
	}
	pass()
	before := len(w.Writes())
	pass()
	if n := len(w.Writes()) - before; n > 80 {
		t.Errorf("%d writes in 10 minutes", n)
	}
	if got := ready(w); !strings.Contains(got, "Contested") {
		t.Errorf("Ready is %s", got)
	}
}

// racingWrites is a client with which something happens right before a merge patch, once.
type racingWrites struct {
	dynamic.Interface
	resource string
	before   func()
}

func (r *racingWrites) Resource(gvr schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	inner := r.Interface.Resource(gvr)
	if gvr.Resource != r.resource {
		return inner
	}
	return racingKind{inner, &opponent{string(types.MergePatchType), func() {
		if act := r.before; act != nil {
			r.before = nil
			act()
		}
	}}}
}
