//go:build integration

package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"reconcel/test/e2e"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// acrossScopes returns rules that render a cluster-scoped Global and a ConfigMap in
// another namespace.
func (w *world) acrossScopes(rest string) (source, other string) {
	w.Helper()
	w.CRD(kindLike("Global", "scope: Namespaced", "scope: Cluster"))
	other = w.Create("apiVersion: v1\nkind: Namespace\nmetadata: {generateName: other-}\n").GetName()
	w.Cleanup(func() {
		_ = w.Client.Resource(namespacesResource).Delete(context.Background(), other, deleteNow)
	})
	global := "  - id: global\n    template:\n      apiVersion: test.reconcel.dev/v1\n      kind: Global\n      metadata: {name: \"${self.metadata.namespace}-${self.metadata.name}\"}\n      spec: {value: \"${self.spec.value}\"}\n    readyWhen: \"true\"\n"
	far := strings.Replace(configMapChild("far", "${self.metadata.name}-far"), "metadata: {", "metadata: {namespace: "+other+", ", 1)
	source = widgetRules("", configMapChild("a", "${self.metadata.name}-a"), global, far) +
		"  allow: {clusterScoped: [{group: test.reconcel.dev, kind: Global}], namespaces: [\"other-*\"]}\n" + rest
	return source, other
}

func (w *world) in(namespace string) *world {
	return &world{World: w.Beside(namespace), wrap: w.wrap}
}

var globals = e2e.GVK("test.reconcel.dev/v1", "Global")

func TestChildrenAcrossScopes(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	source, namespace := w.acrossScopes("")
	other, global := w.in(namespace), w.Namespace+"-one"
	in := w.run(source)
	w.Create(widget("one", "value: x"))
	w.Is(widgets, "one", "Ready", "True")
	w.finalizers(widgets, "one", w.Fill("reconcel.dev/widget-NAMESPACE"))
	other.Has(configs, "one-far", map[string]any{"data.value": "x"})
	w.Has(globals, global, map[string]any{"spec.value": "x"})
	if u := w.Get(globals, global); len(u.GetOwnerReferences()) > 0 {
		t.Errorf("owner references %v", u.GetOwnerReferences())
	}
	if u := w.Get(configs, "one-a"); len(u.GetOwnerReferences()) != 1 {
		t.Errorf("owner references of the child beside it: %v", u.GetOwnerReferences())
	}

	// Drift of these children is repaired, too.
	other.Patch(configs, "one-far", `{"data":{"value":"edited"}}`)
	other.Has(configs, "one-far", map[string]any{"data.value": "x"})
	w.Delete(globals, global)
	w.Has(globals, global, map[string]any{"spec.value": "x"})
	w.settles()
	in.stop()
	since := time.Now()
	w.run(source)
	w.Rest(2 * time.Second)
	if found := w.Writes(since); len(found) > 0 {
		t.Errorf("writes after a restart: %v", found)
	}

	w.deleteWith(widgets, "one", metav1.DeletePropagationBackground)
	w.gone(widgets, "one")
	other.gone(configs, "one-far")
	w.gone(globals, global)
	w.gone(configs, "one-a")
}

// TestStrippedFinalizer removes reconcel's finalizer during a deletion, while the engine
// runs and while it does not.
func TestStrippedFinalizer(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	source, namespace := w.acrossScopes("")
	other := w.in(namespace)
	in := w.run(source)
	for _, name := range []string{"one", "two"} {
		w.Create(widget(name, "value: x"))
		w.Is(widgets, name, "Ready", "True")
	}
	w.settles()
	strip := func(name string) {
		w.deleteWith(widgets, name, metav1.DeletePropagationBackground)
		if u := w.Get(widgets, name); u != nil {
			_, _ = w.Resource(widgets).Patch(t.Context(), name, "application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		}
	}
	strip("one")
	other.gone(configs, "one-far")
	w.gone(globals, w.Namespace+"-one")
	in.stop()
	strip("two")
	w.gone(widgets, "two")
	other.Has(configs, "two-far", nil)
	w.run(source)
	other.gone(configs, "two-far")
	w.gone(globals, w.Namespace+"-two")
}

const namespaceRules = `
apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: tenant-NAMESPACE
  for:
    apiVersion: v1
    kind: Namespace
    when: self.metadata.name == "SUBJECT"
  children:
  - id: quota
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: settings}
      data: {value: "${self.metadata.?labels[?'size'].orValue('small')}"}
  patch: {metadata: {labels: {tenant: "yes"}}}
`

func TestNamespaceAsPrimary(t *testing.T) {
	w := newWorld(t)
	subject := w.Create("apiVersion: v1\nkind: Namespace\nmetadata: {generateName: tenant-}\n").GetName()
	namespaces, inside := e2e.GVK("v1", "Namespace"), w.in(subject)
	in := w.run(strings.ReplaceAll(namespaceRules+finalizeJob("60s", "false"), "SUBJECT", subject))
	inside.Has(configs, "settings", map[string]any{"data.value": "small"})
	w.label(namespaces, subject, "tenant", "yes")
	w.Patch(namespaces, subject, `{"metadata":{"labels":{"size":"large","tenant":null}}}`)
	inside.Has(configs, "settings", map[string]any{"data.value": "large"})
	w.label(namespaces, subject, "tenant", "yes")
	w.finalizers(namespaces, subject, w.Fill("reconcel.dev/tenant-NAMESPACE"))
	if err := w.Client.Resource(namespacesResource).Delete(t.Context(), subject, deleteNow); err != nil {
		t.Fatal(err)
	}
	w.gone(namespaces, subject)
	if !strings.Contains(in.log.String(), "FinalizeSkipped") {
		t.Error("the log does not say that finalize was skipped")
	}
}

// TestClusterScopedPrimaryEnds has a cluster-scoped primary and a child in a namespace,
// with everything that delays the teardown.
func TestClusterScopedPrimaryEnds(t *testing.T) {
	w := newWorld(t)
	w.CRD(kindLike("Global", "scope: Namespaced", "scope: Cluster"))
	source := strings.Replace(rulesFor("Global", ""), "metadata: {name: \"${self.metadata.name}-a\"}", "metadata: {name: \"${self.metadata.name}-a\", namespace: NAMESPACE}", 1)
	source = strings.Replace(source, "    namespaces: [NAMESPACE]\n", "", 1) + "  allow: {namespaces: [\"test-*\"]}\n  patch: {metadata: {annotations: {a: b}}}\n" +
		strings.Replace(finalizeJob("60s", "false"), "metadata: {", "metadata: {namespace: NAMESPACE, ", 1)
	source = strings.Replace(source, "    kind: Global\n", "    kind: Global\n    when: self.metadata.name.endsWith(\"NAMESPACE\")\n", 1)
	w.run(source)
	name := "global-" + w.Namespace
	w.Create(strings.Replace(widget(name, "value: x"), "Widget", "Global", 1))
	w.Has(configs, name+"-a", map[string]any{"data.value": "x"})
	w.Is(globals, name, "Ready", "True")
	w.finalizers(globals, name, w.Fill("reconcel.dev/global-NAMESPACE"))
	w.Has(globals, name, map[string]any{"metadata.annotations.a": "b"})
	w.Delete(configs, name+"-a")
	w.Has(configs, name+"-a", map[string]any{"data.value": "x"})
	w.settles()
	w.Delete(globals, name)
	w.gone(globals, name)
	w.gone(configs, name+"-a")
	w.gone(jobs, name+"-backup")
}

// TestFinalizerComesAndGoes has a child in another namespace that the rule renders only
// at times.
func TestFinalizerComesAndGoes(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	source, namespace := w.acrossScopes("")
	source = strings.Replace(source, "  - id: far\n", "  - id: far\n    when: self.spec.?far.orValue(false)\n", 1)
	source = strings.Replace(source, "  - id: global\n", "  - id: global\n    when: \"false\"\n", 1)
	w.run(source)
	w.Create(widget("one", "value: x"))
	w.Is(widgets, "one", "Ready", "True")
	w.finalizers(widgets, "one")
	w.Patch(widgets, "one", `{"spec":{"far":true}}`)
	w.in(namespace).Has(configs, "one-far", nil)
	w.finalizers(widgets, "one", w.Fill("reconcel.dev/widget-NAMESPACE"))
	w.Patch(widgets, "one", `{"spec":{"far":false}}`)
	w.in(namespace).gone(configs, "one-far")
	w.finalizers(widgets, "one")
	w.Is(widgets, "one", "Ready", "True")
	w.settles()
}
