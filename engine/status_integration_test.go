//go:build integration

package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// kindLike returns a CRD like that of Widgets, under another name and edited.
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
	w.crd(widgetCRD)
	in := w.run(rulesFor("Widget", statusOfA))
	w.create(widget("one", "value: abcdef"))
	w.has(widgets, "one", map[string]any{"status.value": "abcdef", "status.nested.size": 6, "status.nested.name": "one-a"})
	w.is(widgets, "one", "Long", "True")
	w.patch(widgets, "one", `{"spec":{"value":"ab"}}`)
	w.has(widgets, "one", map[string]any{"status.value": "ab", "status.nested.size": 2})
	w.is(widgets, "one", "Long", "False")
	w.is(widgets, "one", "Ready", "True")

	// Others' fields and conditions stay; ours come back.
	w.apply(widgets, "one", `{"status":{"theirs":1,"conditions":[{"type":"Theirs","status":"True"}]}}`)
	w.patch(widgets, "one", `{"status":{"value":"forged"}}`, "status")
	w.has(widgets, "one", map[string]any{"status.value": "ab", "status.theirs": 1})
	if err := condition(w.get(widgets, "one"), "Theirs", "True"); err != nil {
		t.Error(err)
	}
	w.settles()
	in.stop()

	// A field that the rules no longer write goes.
	w.run(rulesFor("Widget", strings.Replace(statusOfA, "value: ${a.data.value}", "other: fixed", 1)))
	w.has(widgets, "one", map[string]any{"status.other": "fixed", "status.theirs": 1})
	w.eventually("status.value to go", func() error {
		if v, ok, _ := unstructured.NestedString(w.get(widgets, "one").Object, "status", "value"); ok {
			return fmt.Errorf("it is %q", v)
		}
		return nil
	})
	w.settles()
}

// apply is a forced server-side apply to the status by somebody else.
func (w *world) apply(kind schemaGVK, name, body string) {
	w.Helper()
	force := true
	body = fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q},%s`, kind.GroupVersion().String(), kind.Kind, name, strings.TrimPrefix(body, "{"))
	_, err := w.resource(kind).Patch(w.Context(), name, types.ApplyPatchType, []byte(body), metav1.PatchOptions{FieldManager: "foreigner", Force: &force}, "status")
	if err != nil {
		w.Fatal(err)
	}
}

func TestConditionsOfOneListStay(t *testing.T) {
	w := newWorld(t)
	w.crd(kindLike("Listed", "                x-kubernetes-list-type: map\n                x-kubernetes-list-map-keys: [type]\n", ""))
	kind := gvk("test.reconcel.dev/v1", "Listed")
	w.run(rulesFor("Listed", statusOfA))
	w.create(strings.Replace(widget("one", "value: abcdef"), "Widget", "Listed", 1))
	w.is(kind, "one", "Ready", "True")
	u := w.get(kind, "one")
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	if err := unstructured.SetNestedSlice(u.Object, append(list, map[string]any{"type": "Theirs", "status": "True"}), "status", "conditions"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.resource(kind).UpdateStatus(t.Context(), u, metav1.UpdateOptions{FieldManager: "foreigner"}); err != nil {
		t.Fatal(err)
	}
	w.patch(kind, "one", `{"spec":{"value":"ab"}}`)
	w.is(kind, "one", "Long", "False")
	w.is(kind, "one", "Ready", "True")
	if err := condition(w.get(kind, "one"), "Theirs", "True"); err != nil {
		t.Error(err)
	}
	w.settles()
}

func TestKindWithoutStatusSubresource(t *testing.T) {
	w := newWorld(t)
	w.crd(kindLike("Plain", "    subresources: {status: {}}\n", ""))
	kind := gvk("test.reconcel.dev/v1", "Plain")
	in := w.run(rulesFor("Plain", statusOfA))
	w.create(strings.Replace(widget("one", "value: abcdef"), "Widget", "Plain", 1))
	w.has(kind, "one", map[string]any{"status.value": "abcdef"})
	w.settles()
	in.stop()
	since := time.Now()
	w.run(rulesFor("Plain", statusOfA))
	w.rest(3 * time.Second)
	if found := w.writes(since); len(found) > 0 {
		t.Errorf("writes after a restart: %v", found)
	}
}

func TestKindWithoutConditions(t *testing.T) {
	w := newWorld(t)
	crd := kindLike("Bare")
	head, _, _ := strings.Cut(crd, "            x-kubernetes-preserve-unknown-fields: true\n            properties:\n              conditions:")
	w.crd(head + "            properties: {value: {type: string}}\n")
	kind := gvk("test.reconcel.dev/v1", "Bare")
	status, _, _ := strings.Cut(statusOfA, "  conditions:")
	in := w.run(rulesFor("Bare", status))
	w.create(strings.Replace(widget("one", "value: abcdef"), "Widget", "Bare", 1))
	w.told("Bare", "one", "Refused") // The schema has no status.nested.
	w.has(configs, "one-a", map[string]any{"data.value": "abcdef"})
	in.stop()
	w.run(rulesFor("Bare", "  status: {value: \"${a.data.value}\"}\n"))
	w.has(kind, "one", map[string]any{"status.value": "abcdef"})
	w.settles()
}

// TestRefusedStatusIsSaid has a rule say what the schema does not take: people read
// that beside what was said before.
func TestRefusedStatusIsSaid(t *testing.T) {
	for name, edits := range map[string][]string{
		"keyed":    nil,
		"one list": {"                x-kubernetes-list-type: map\n                x-kubernetes-list-map-keys: [type]\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			kind := gvk("test.reconcel.dev/v1", "Brief"+strings.ToLower(strings.ReplaceAll(name, " ", "")))
			w.crd(kindLike(kind.Kind, append(edits, "            properties:\n              conditions:",
				"            properties:\n              value: {type: string, maxLength: 3}\n              conditions:")...))
			w.run(rulesFor(kind.Kind, statusOfA))
			w.create(strings.Replace(widget("one", "value: ab"), "Widget", kind.Kind, 1))
			w.has(kind, "one", map[string]any{"status.value": "ab", "status.nested.size": 2})
			w.is(kind, "one", "Ready", "True")

			since := time.Now()
			w.patch(kind, "one", `{"spec":{"value":"abcdef"}}`)
			w.is(kind, "one", "Ready", "False")
			w.is(kind, "one", "Stalled", "True")
			if err := condition(w.get(kind, "one"), "Long", "False"); err != nil {
				t.Errorf("not as it was before: %v", err)
			}
			w.has(kind, "one", map[string]any{"status.value": "ab", "status.nested.size": 2})
			w.has(configs, "one-a", map[string]any{"data.value": "abcdef"})
			w.told(kind.Kind, "one", "Refused")
			w.settles()
			if n := w.statusWrites(since, strings.ToLower(kind.Kind)+"s"); n > 3 { // Refused, said, and perhaps on its way.
				t.Errorf("the status was sent %d times", n)
			}

			w.patch(kind, "one", `{"spec":{"value":"abc"}}`)
			w.has(kind, "one", map[string]any{"status.value": "abc", "status.nested.size": 3})
			w.is(kind, "one", "Ready", "True")
			w.settles()
		})
	}
}

func TestOrphanStays(t *testing.T) {
	w := newWorldAlone(t)
	w.crd(widgetCRD)
	w.run(widgetRules("", strings.Replace(configMapChild("a", "${self.metadata.name}-a"), "    template:", "    onDelete: orphan\n    template:", 1)))
	w.create(widget("one", "value: x"))
	w.is(widgets, "one", "Ready", "True")
	if refs := w.get(configs, "one-a").GetOwnerReferences(); len(refs) > 0 {
		t.Fatalf("an orphan-to-be has owners: %v", refs)
	}
	w.patch(configs, "one-a", `{"data":{"value":"edited"}}`)
	if took := w.has(configs, "one-a", map[string]any{"data.value": "x"}); took > time.Second {
		t.Errorf("repaired after %s", took)
	}
	w.delete(configs, "one-a")
	w.has(configs, "one-a", map[string]any{"data.value": "x"})
	w.is(widgets, "one", "Ready", "True")
	w.delete(widgets, "one")
	w.lacks(widgets, "one")
	w.rest(2 * time.Second)
	w.has(configs, "one-a", nil)
}

func TestClusterScopedPrimary(t *testing.T) {
	w := newWorld(t)
	w.crd(kindLike("Global", "scope: Namespaced", "scope: Cluster"))
	kind := gvk("test.reconcel.dev/v1", "Global")
	source := strings.Replace(rulesFor("Global", ""), "metadata: {name: \"${self.metadata.name}-a\"}", "metadata: {name: \"${self.metadata.name}-a\", namespace: NAMESPACE}", 1)
	source = strings.Replace(source, "    namespaces: [NAMESPACE]\n", "    when: self.metadata.name == \"global-NAMESPACE\"\n", 1) + "  allow: {namespaces: [NAMESPACE]}\n"
	w.run(source)
	name := "global-" + w.namespace
	w.create(strings.Replace(widget(name, "value: x"), "Widget", "Global", 1))
	w.has(configs, name+"-a", map[string]any{"data.value": "x"})
	w.is(kind, name, "Ready", "True")
	w.delete(configs, name+"-a")
	w.has(configs, name+"-a", map[string]any{"data.value": "x"})
	w.delete(kind, name)
	w.lacks(configs, name+"-a")
}

func TestNothingOutsideItsNamespace(t *testing.T) {
	w := newWorld(t)
	w.crd(widgetCRD)
	elsewhere := strings.Replace(configMapChild("a", "stray-"+w.namespace), "metadata: {", "metadata: {namespace: \"${self.spec.where}\", ", 1)
	role := "  - id: role\n    template:\n      apiVersion: rbac.authorization.k8s.io/v1\n      kind: ClusterRole\n      metadata: {name: \"stray-" + w.namespace + "\"}\n      rules: []\n"
	w.run(widgetRules("", elsewhere, role))
	since := time.Now()
	w.create(widget("one", "value: x, where: kube-system"))
	w.is(widgets, "one", "Stalled", "True")
	w.rest(2 * time.Second)
	for _, r := range w.writes(since) {
		if r.Subresource != "status" && r.Group != "events.k8s.io" {
			t.Errorf("%s of %s", r, r.Name)
		}
	}
}
