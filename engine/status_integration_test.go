//go:build integration

package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"reconcel/test/e2e"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// kindLike returns a CRD like that of Widgets, with another name and these edits.
func kindLike(kind string, edits ...string) string {
	lower := strings.ToLower(kind)
	renamed := strings.NewReplacer("widgets", lower+"s", "Widget", kind, "widget", lower).Replace(widgetCRD)
	return strings.NewReplacer(edits...).Replace(renamed)
}

func rulesFor(kind, rest string) string {
	return strings.NewReplacer("kind: Widget", "kind: "+kind, "name: widget", "name: "+strings.ToLower(kind)).
		Replace(widgetRules("", configMapChild("a", "${self.metadata.name}-a"))) + rest
}

const statusOfA = `  status:
    value: ${a.data.value}
    nested: {size: "${size(a.data.value)}", name: "${a.metadata.name}"}
  conditions:
  - type: Long
    when: size(a.data.value) > 3
    message: it has ${size(a.data.value)} characters
`

func TestStatusFollowsTheChild(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	in := w.run(rulesFor("Widget", statusOfA))
	w.Create(widget("one", "value: abcdef"))
	w.Has(widgets, "one", map[string]any{"status.value": "abcdef", "status.nested.size": 6, "status.nested.name": "one-a"})
	w.Is(widgets, "one", "Long", "True")
	w.Patch(widgets, "one", `{"spec":{"value":"ab"}}`)
	w.Has(widgets, "one", map[string]any{"status.value": "ab", "status.nested.size": 2})
	w.Is(widgets, "one", "Long", "False")
	w.Is(widgets, "one", "Ready", "True")

	// Foreign fields and conditions stay. Overwritten fields of the rule are restored.
	w.apply(widgets, "one", `{"status":{"theirs":1,"conditions":[{"type":"Theirs","status":"True"}]}}`)
	w.Patch(widgets, "one", `{"status":{"value":"forged"}}`, "status")
	w.Has(widgets, "one", map[string]any{"status.value": "ab", "status.theirs": 1})
	if err := e2e.Condition(w.Get(widgets, "one"), "Theirs", "True"); err != nil {
		t.Error(err)
	}
	w.settles()
	in.stop()

	// A field that the rules no longer write is removed.
	w.run(rulesFor("Widget", strings.Replace(statusOfA, "value: ${a.data.value}", "other: fixed", 1)))
	w.Has(widgets, "one", map[string]any{"status.other": "fixed", "status.theirs": 1})
	w.Eventually("status.value to go", func() error {
		if v, ok, _ := unstructured.NestedString(w.Get(widgets, "one").Object, "status", "value"); ok {
			return fmt.Errorf("it is %q", v)
		}
		return nil
	})
	w.settles()
}

// apply is a forced server-side apply to the status by another field manager.
func (w *world) apply(kind schema.GroupVersionKind, name, body string) {
	w.Helper()
	force := true
	body = fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q},%s`, kind.GroupVersion().String(), kind.Kind, name, strings.TrimPrefix(body, "{"))
	_, err := w.Resource(kind).Patch(w.Context(), name, types.ApplyPatchType, []byte(body), metav1.PatchOptions{FieldManager: "foreigner", Force: &force}, "status")
	if err != nil {
		w.Fatal(err)
	}
}

func TestConditionsOfOneListStay(t *testing.T) {
	w := newWorld(t)
	w.CRD(kindLike("Listed", "                x-kubernetes-list-type: map\n                x-kubernetes-list-map-keys: [type]\n", ""))
	kind := e2e.GVK("test.reconcel.dev/v1", "Listed")
	w.run(rulesFor("Listed", statusOfA))
	w.Create(strings.Replace(widget("one", "value: abcdef"), "Widget", "Listed", 1))
	w.Is(kind, "one", "Ready", "True")
	u := w.Get(kind, "one")
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	if err := unstructured.SetNestedSlice(u.Object, append(list, map[string]any{"type": "Theirs", "status": "True"}), "status", "conditions"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Resource(kind).UpdateStatus(t.Context(), u, metav1.UpdateOptions{FieldManager: "foreigner"}); err != nil {
		t.Fatal(err)
	}
	w.Patch(kind, "one", `{"spec":{"value":"ab"}}`)
	w.Is(kind, "one", "Long", "False")
	w.Is(kind, "one", "Ready", "True")
	if err := e2e.Condition(w.Get(kind, "one"), "Theirs", "True"); err != nil {
		t.Error(err)
	}
	w.settles()
}

func TestKindWithoutStatusSubresource(t *testing.T) {
	w := newWorld(t)
	w.CRD(kindLike("Plain", "    subresources: {status: {}}\n", ""))
	kind := e2e.GVK("test.reconcel.dev/v1", "Plain")
	in := w.run(rulesFor("Plain", statusOfA))
	w.Create(strings.Replace(widget("one", "value: abcdef"), "Widget", "Plain", 1))
	w.Has(kind, "one", map[string]any{"status.value": "abcdef"})
	w.settles()
	in.stop()
	since := time.Now()
	w.run(rulesFor("Plain", statusOfA))
	w.Rest(3 * time.Second)
	if found := w.Writes(since); len(found) > 0 {
		t.Errorf("writes after a restart: %v", found)
	}
}

func TestKindWithoutConditions(t *testing.T) {
	w := newWorld(t)
	crd := kindLike("Bare")
	head, _, _ := strings.Cut(crd, "            x-kubernetes-preserve-unknown-fields: true\n            properties:\n              conditions:")
	w.CRD(head + "            properties: {value: {type: string}}\n")
	kind := e2e.GVK("test.reconcel.dev/v1", "Bare")
	status, _, _ := strings.Cut(statusOfA, "  conditions:")
	in := w.run(rulesFor("Bare", status))
	w.Create(strings.Replace(widget("one", "value: abcdef"), "Widget", "Bare", 1))
	w.told("Bare", "one", "Rejected") // The schema has no status.nested.
	w.Has(configs, "one-a", map[string]any{"data.value": "abcdef"})
	in.stop()
	w.run(rulesFor("Bare", "  status: {value: \"${a.data.value}\"}\n"))
	w.Has(kind, "one", map[string]any{"status.value": "abcdef"})
	w.settles()
}

// TestRejectedStatusIsReported has a rule write a status that the schema rejects. The
// conditions report that beside the existing ones.
func TestRejectedStatusIsReported(t *testing.T) {
	for name, edits := range map[string][]string{
		"keyed":    nil,
		"one list": {"                x-kubernetes-list-type: map\n                x-kubernetes-list-map-keys: [type]\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			kind := e2e.GVK("test.reconcel.dev/v1", "Brief"+strings.ToLower(strings.ReplaceAll(name, " ", "")))
			w.CRD(kindLike(kind.Kind, append(edits, "            properties:\n              conditions:",
				"            properties:\n              value: {type: string, maxLength: 3}\n              conditions:")...))
			w.run(rulesFor(kind.Kind, statusOfA))
			w.Create(strings.Replace(widget("one", "value: ab"), "Widget", kind.Kind, 1))
			w.Has(kind, "one", map[string]any{"status.value": "ab", "status.nested.size": 2})
			w.Is(kind, "one", "Ready", "True")

			since := time.Now()
			w.Patch(kind, "one", `{"spec":{"value":"abcdef"}}`)
			w.Is(kind, "one", "Ready", "False")
			w.Is(kind, "one", "Stalled", "True")
			if err := e2e.Condition(w.Get(kind, "one"), "Long", "False"); err != nil {
				t.Errorf("not as it was before: %v", err)
			}
			w.Has(kind, "one", map[string]any{"status.value": "ab", "status.nested.size": 2})
			w.Has(configs, "one-a", map[string]any{"data.value": "abcdef"})
			w.told(kind.Kind, "one", "Rejected")
			w.settles()
			if n := w.statusWrites(since, strings.ToLower(kind.Kind)+"s"); n > 3 { // One rejected write, one report, and perhaps one in progress.
				t.Errorf("the status was sent %d times", n)
			}

			w.Patch(kind, "one", `{"spec":{"value":"abc"}}`)
			w.Has(kind, "one", map[string]any{"status.value": "abc", "status.nested.size": 3})
			w.Is(kind, "one", "Ready", "True")
			w.settles()
		})
	}
}

func TestOrphanStays(t *testing.T) {
	w := newWorldAlone(t)
	w.CRD(widgetCRD)
	w.run(widgetRules("", strings.Replace(configMapChild("a", "${self.metadata.name}-a"), "    template:", "    onDelete: orphan\n    template:", 1)))
	w.Create(widget("one", "value: x"))
	w.Is(widgets, "one", "Ready", "True")
	if refs := w.Get(configs, "one-a").GetOwnerReferences(); len(refs) > 0 {
		t.Fatalf("an orphan-to-be has owners: %v", refs)
	}
	w.Patch(configs, "one-a", `{"data":{"value":"edited"}}`)
	if took := w.Has(configs, "one-a", map[string]any{"data.value": "x"}); took > time.Second {
		t.Errorf("repaired after %s", took)
	}
	w.Delete(configs, "one-a")
	w.Has(configs, "one-a", map[string]any{"data.value": "x"})
	w.Is(widgets, "one", "Ready", "True")
	w.Delete(widgets, "one")
	w.Lacks(widgets, "one")
	w.Rest(2 * time.Second)
	w.Has(configs, "one-a", nil)
}

func TestClusterScopedPrimary(t *testing.T) {
	w := newWorld(t)
	w.CRD(kindLike("Global", "scope: Namespaced", "scope: Cluster"))
	kind := e2e.GVK("test.reconcel.dev/v1", "Global")
	source := strings.Replace(rulesFor("Global", ""), "metadata: {name: \"${self.metadata.name}-a\"}", "metadata: {name: \"${self.metadata.name}-a\", namespace: NAMESPACE}", 1)
	source = strings.Replace(source, "    namespaces: [NAMESPACE]\n", "    when: self.metadata.name == \"global-NAMESPACE\"\n", 1) + "  allow: {namespaces: [NAMESPACE]}\n"
	w.run(source)
	name := "global-" + w.Namespace
	w.Create(strings.Replace(widget(name, "value: x"), "Widget", "Global", 1))
	w.Has(configs, name+"-a", map[string]any{"data.value": "x"})
	w.Is(kind, name, "Ready", "True")
	w.Delete(configs, name+"-a")
	w.Has(configs, name+"-a", map[string]any{"data.value": "x"})
	w.Delete(kind, name)
	w.Lacks(configs, name+"-a")
}

func TestNothingOutsideItsNamespace(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	elsewhere := strings.Replace(configMapChild("a", "stray-"+w.Namespace), "metadata: {", "metadata: {namespace: \"${self.spec.where}\", ", 1)
	role := "  - id: role\n    template:\n      apiVersion: rbac.authorization.k8s.io/v1\n      kind: ClusterRole\n      metadata: {name: \"stray-" + w.Namespace + "\"}\n      rules: []\n"
	w.run(widgetRules("", elsewhere, role))
	since := time.Now()
	w.Create(widget("one", "value: x, where: kube-system"))
	w.Is(widgets, "one", "Stalled", "True")
	w.Rest(2 * time.Second)
	for _, r := range w.Writes(since) {
		if r.Subresource != "status" && r.Group != "events.k8s.io" {
			t.Errorf("%s of %s", r, r.Name)
		}
	}
}
