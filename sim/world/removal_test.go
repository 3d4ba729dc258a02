package world_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/rules"
	"reconcel/sim"
	"reconcel/sim/world"
)

// goes is a rule for Foo with onRuleRemoval: delete.
func goes(name, more string, children ...string) string {
	return fooRule(name, "  onRuleRemoval: delete\n"+more, children...)
}

// begin creates a Foo in a world with these rules.
func begin(t *testing.T, all ...string) *world.World {
	t.Helper()
	w := load(t, "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n"+strings.Join(all, ""))
	put(t, w, "../../examples/foo/foo.yaml")
	settle(t, w)
	return w
}

func merge(t *testing.T, w *world.World, body []byte) {
	t.Helper()
	_, err := w.Cluster().Client("someone").Resource(fooResource).Namespace("default").
		Patch(t.Context(), "example-foo", types.MergePatchType, body, metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	settle(t, w)
}

// remembered returns a rule's entry in the inventory, or "".
func remembered(t *testing.T, w *world.World, rule string) string {
	t.Helper()
	for _, o := range w.Cluster().All() {
		if o.GetName() == "reconcel-inventory" {
			data, _ := o.Object["data"].(map[string]any)
			text, _ := data[rule].(string)
			return text
		}
	}
	t.Fatal("there is no inventory")
	return ""
}

// configMaps lists the ConfigMaps with their rules.
func configMaps(w *world.World) string {
	var all []string
	for _, o := range w.Objects() {
		if o.GroupVersionKind().GroupKind() == configMapKind {
			all = append(all, o.GetName()+"="+o.GetLabels()[rules.LabelRule])
		}
	}
	return strings.Join(all, " ")
}

var fooResource = runtimeschema.GroupVersionResource{Group: "samplecontroller.k8s.io", Version: "v1alpha1", Resource: "foos"}

// forService is a rule without children for a kind without objects.
const forService = "- name: other\n  for: {apiVersion: v1, kind: Service}\n"

func TestRemovedRule(t *testing.T) {
	orphan := strings.Replace(configMap("b"), "    template", "    onDelete: orphan\n    template", 1)
	kept := strings.Replace(configMap("a"), "    template", "    onChange: keep\n    template", 1)
	failing := "  validate:\n  - {expression: 'self.spec.replicas > 100', message: too few}\n"
	for _, test := range []struct {
		name   string
		before []string
		after  []string
		want   string
		rest   bool // the inventory still has the rule
	}{
		{"the only rule for the kind", []string{goes("one", "", configMap("a"), configMap("b"))}, []string{forService}, "", false},
		{"one of two", []string{goes("one", "", configMap("a")), fooRule("two", "", configMap("b"))}, []string{fooRule("two", "", configMap("b"))}, "b=two", false},
		{"one that keeps", []string{fooRule("one", "  onRuleRemoval: keep\n", configMap("a"))}, []string{forService}, "a=one", true},
		{"an orphan", []string{goes("one", "", configMap("a"), orphan)}, []string{forService}, "b=one", false},
		{"an orphan, beside another rule", []string{goes("one", "", configMap("a"), orphan), fooRule("two", "", configMap("c"))},
			[]string{fooRule("two", "", configMap("c"))}, "b=one c=two", false},
		{"in order", []string{goes("one", "  teardown: ordered\n", configMap("a"))}, []string{forService}, "", false},
		{"renamed", []string{goes("one", "", configMap("a"), configMap("b"))}, []string{goes("two", "", configMap("a"))}, "a=two", false},
		{"renamed, and keeping", []string{goes("one", "", kept)}, []string{goes("two", "", kept)}, "a=one", true},
		{"renamed to one that refuses the resource", []string{goes("one", "", configMap("a"))}, []string{goes("two", failing, configMap("a"))}, "a=one", true},
		{"renamed to one whose name for it waits", []string{goes("one", "", configMap("a"))}, []string{goes("two", "", configMap("${self.status.none}a"))}, "a=one", true},
		{"for another kind now", []string{goes("one", "", configMap("a"))}, []string{strings.Replace(forService, "other", "one", 1)}, "", true},
		{"for another kind now, kept", []string{fooRule("one", "", configMap("a"))},
			[]string{strings.Replace(forService, "other", "one", 1) + "  onRuleRemoval: delete\n"}, "a=one", true},
	} {
		for _, down := range []string{"running", "down"} {
			t.Run(test.name+", "+down, func(t *testing.T) {
				w := begin(t, test.before...)
				uids := map[string]string{}
				for _, o := range w.Objects() {
					uids[o.GetName()] = string(o.GetUID())
				}
				reload(t, w, test.after...)
				if down == "down" {
					if err := w.Restart(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				if got := configMaps(w); got != test.want {
					t.Errorf("there are %q, want %q", got, test.want)
				}
				for _, o := range w.Objects() {
					if o.GroupVersionKind().GroupKind() == configMapKind && uids[o.GetName()] != string(o.GetUID()) {
						t.Errorf("%s was created again", o.GetName())
					}
				}
				if got := remembered(t, w, "one"); test.rest != (got != "") {
					t.Errorf("the inventory says %q", got)
				}
			})
		}
	}
}

// TestRemovedRuleWaits keeps objects that another rule may render, until that is known.
func TestRemovedRuleWaits(t *testing.T) {
	w := begin(t, goes("one", "", configMap("a"), configMap("b")))
	reload(t, w, goes("two", "", configMap("${self.spec.none}a")))
	if got := configMaps(w); got != "a=one b=one" {
		t.Fatalf("there are %q while it is not known what the other rule renders", got)
	}
	reload(t, w, goes("two", "", configMap("a")))
	if got := configMaps(w); got != "a=two" {
		t.Errorf("there are %q", got)
	}
}

// TestRemovedPatch removes the fields that a rule has patched into the primary, except
// for those that its successor patches, too.
func TestRemovedPatch(t *testing.T) {
	patch := func(labels string) string { return fmt.Sprintf("  patch: {metadata: {labels: {%s}}}\n", labels) }
	for _, test := range []struct {
		name  string
		after string
		want  string
	}{
		{"no rule for the kind", forService, ""},
		{"another rule for it", fooRule("two", "", configMap("a")), ""},
		{"renamed", goes("two", patch("a: x")), "a"},
		{"renamed to one that cannot say yet", goes("two", patch("a: '${self.status.none}'")), "a b"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := begin(t, goes("one", patch("a: x, b: x")))
			before := len(w.Writes())
			reload(t, w, test.after)
			var got []string
			for _, o := range w.Objects() {
				for label := range map[string]bool{"a": true, "b": true} {
					if o.GetKind() == "Foo" && o.GetLabels()[label] != "" {
						got = append(got, label)
					}
				}
			}
			if len(got) == 2 {
				got = []string{"a", "b"}
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("the labels are %q, want %q; written was %v", got, test.want, w.Writes()[before:])
			}
		})
	}
}

// TestRemovedWhilePaused expects the cleanup to wait for the end of the pause.
func TestRemovedWhilePaused(t *testing.T) {
	for _, after := range []string{forService, fooRule("two", "", configMap("c"))} {
		w := begin(t, goes("one", "", configMap("a")))
		pause := func(value string) {
			t.Helper()
			merge(t, w, fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, rules.AnnotationPaused, value))
		}
		pause("true")
		reload(t, w, after)
		if got := configMaps(w); got != "a=one" {
			t.Errorf("while it is paused there are %q", got)
		}
		pause("false")
		if got := configMaps(w); strings.Contains(got, "a=") {
			t.Errorf("after the pause there are %q", got)
		}
	}
}

// TestRemovedAndBack restores a rule, which creates its children again.
func TestRemovedAndBack(t *testing.T) {
	rule := goes("one", "", configMap("a"))
	w := begin(t, rule)
	reload(t, w, forService)
	if got := configMaps(w); got != "" {
		t.Fatalf("there are %q", got)
	}
	reload(t, w, rule)
	if got := configMaps(w); got != "a=one" {
		t.Errorf("there are %q", got)
	}
}

// TestForThereAndBack moves a rule to another kind and back. It prunes its first objects
// that it no longer renders.
func TestForThereAndBack(t *testing.T) {
	secret := "  - id: s\n    template: {apiVersion: v1, kind: Secret, metadata: {name: s}}\n"
	w := begin(t, fooRule("one", "", configMap("a"), secret))
	reload(t, w, strings.Replace(forService, "other", "one", 1))
	reload(t, w, fooRule("one", "", configMap("a")))
	for _, o := range w.Objects() {
		if o.GetKind() == "Secret" {
			t.Error("a child of a former kind is still there")
		}
	}
	if got := configMaps(w); got != "a=one" {
		t.Errorf("there are %q", got)
	}
}

// TestRenamedWithReplicas has a rule take over replicas with ordinals that it would not
// choose itself. There are never fewer replicas than before.
func TestRenamedWithReplicas(t *testing.T) {
	many := "  - id: many\n    replicas: self.spec.replicas\n    template: {apiVersion: v1, kind: ConfigMap, metadata: {generateName: m-}}\n"
	w := begin(t, goes("one", "", many))
	scale := func(n int) {
		t.Helper()
		merge(t, w, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, n))
	}
	names := func() (all []string) {
		for _, o := range w.Objects() {
			if o.GroupVersionKind().GroupKind() == configMapKind {
				all = append(all, o.GetName()+"="+o.GetLabels()[rules.LabelRule])
			}
		}
		return all
	}
	first := names()
	scale(3)
	if err := w.Advance(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	// The lowest ordinal is created again, and is then the youngest, which is deleted
	// first.
	configs := w.Cluster().Client("someone").Resource(runtimeschema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace("default")
	if err := configs.Delete(t.Context(), strings.TrimSuffix(first[0], "=one"), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	settle(t, w)
	scale(2)
	before := names()
	if len(before) != 2 || slices.Contains(before, first[0]) {
		t.Fatalf("there are %v, which is no gap", before)
	}
	w.Cluster().Fail(sim.Failure{By: world.Controller, Verb: "apply", Kind: configMapKind, Name: strings.TrimSuffix(first[0], "=one"), Times: 1, Err: errors.New("not now")})
	told := len(w.Writes())
	reload(t, w, goes("two", "", many))
	if got := names(); len(got) != 2 || strings.Contains(strings.Join(got, " "), "=one") {
		t.Errorf("there are %v", got)
	}
	var order []string
	for _, write := range w.Writes()[told:] {
		if write.Err == nil && write.Kind.GroupKind() == configMapKind {
			order = append(order, write.Verb+" "+write.Name)
		}
	}
	if want := "apply " + strings.TrimSuffix(first[0], "=one"); slices.Index(order, want) < 0 || !strings.HasPrefix(order[len(order)-1], "delete ") {
		t.Errorf("the writes are %q, want %q and a delete at last", order, want)
	}
}

// TestRemovedRuleLeavesOthers has similar foreign objects beside those of the rule, and a
// rule of the same name for another kind.
func TestRemovedRuleLeavesOthers(t *testing.T) {
	here := "- name: one\n  for: {apiVersion: v1, kind: Service}\n  children:\n" + configMap("of-service-s")
	for _, test := range []struct {
		name  string
		after string
		want  string
	}{
		{"no rule for the kind", forService, "forged-0=one forged-1=one forged-2=one"},
		{"another rule for it", fooRule("two", "", configMap("b")), "b=two forged-0=one forged-1=one forged-2=one"},
		{"its name for another kind", here, "forged-0=one forged-1=one forged-2=one of-service-s=one"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := begin(t, goes("one", "  teardown: ordered\n", configMap("a")))
			var foo *unstructured.Unstructured
			for _, o := range w.Objects() {
				if o.GetKind() == "Foo" {
					foo = o
				}
			}
			for i, forge := range []func(*unstructured.Unstructured){
				func(u *unstructured.Unstructured) {
					u.SetAnnotations(map[string]string{rules.AnnotationOwner: string(foo.GetUID()) + "/Foo.samplecontroller.k8s.io/default/example-foo"})
				},
				func(u *unstructured.Unstructured) {
					u.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(foo, foo.GroupVersionKind())})
				},
				func(*unstructured.Unstructured) {},
			} {
				u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
				u.SetNamespace("default")
				u.SetName(fmt.Sprintf("forged-%d", i))
				u.SetLabels(map[string]string{rules.LabelRule: "one", rules.LabelChild: "ca"})
				forge(u)
				if _, err := w.Cluster().Put(u); err != nil {
					t.Fatal(err)
				}
			}
			service := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Service", "spec": map[string]any{"ports": []any{map[string]any{"port": int64(80)}}}}}
			service.SetNamespace("default")
			service.SetName("s")
			if _, err := w.Cluster().Put(service); err != nil {
				t.Fatal(err)
			}
			reload(t, w, test.after)
			if got := configMaps(w); got != test.want {
				t.Errorf("there are %q, want %q", got, test.want)
			}
		})
	}
}

// TestRenamedForNamespaces is about cluster-scoped primaries.
func TestRenamedForNamespaces(t *testing.T) {
	rule := func(name, more string, children ...string) string {
		return strings.NewReplacer("samplecontroller.k8s.io/v1alpha1", "v1", "kind: Foo", "kind: Namespace, when: 'self.metadata.name == \"default\"'").
			Replace(goes(name, more, children...))
	}
	w := begin(t, rule("one", "  patch: {metadata: {labels: {team: a}}}\n", configMap("a"), configMap("b")))
	if got := configMaps(w); got != "a=one b=one" {
		t.Fatalf("there are %q", got)
	}
	reload(t, w, rule("two", "", configMap("a")))
	if got := configMaps(w); got != "a=two" {
		t.Errorf("there are %q", got)
	}
	for _, o := range w.Cluster().All() {
		if o.GetKind() == "Namespace" && o.GetLabels()["team"] != "" {
			t.Errorf("%s has the labels %v", o.GetName(), o.GetLabels())
		}
	}
	if got := remembered(t, w, "one"); got != "" {
		t.Errorf("the inventory says %q", got)
	}
}
