//go:build integration

package engine_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"reconcel/engine"
	"reconcel/engine/access"
	"reconcel/test/faultproxy"
)

// TestGroupMissingWhileRuleIsRemoved hides the group of the primaries and of a child from
// discovery while a rule is removed. Nothing of the rule is forgotten.
func TestGroupMissingWhileRuleIsRemoved(t *testing.T) {
	for _, absence := range []faultproxy.Absence{faultproxy.GroupMissing, faultproxy.GroupEmpty} {
		t.Run(string(absence), func(t *testing.T) {
			w := newWorld(t)
			w.CRD(widgetCRD)
			source, other := w.allRemoved("")
			proxy := faultproxy.Start(t, w.Cluster.Config())
			options := access.Options{Config: &rest.Config{Host: proxy.URL()}}
			rule := w.Fill("widget-NAMESPACE")
			in := w.runWith(options, source)
			w.Create(widget("one", "value: x"))
			w.Is(widgets, "one", "Ready", "True")
			w.in(other).Has(configs, "one-far", nil)
			lift := proxy.HideGroup("test.reconcel.dev", absence)
			w.reload(in, strings.Replace(rulesFile, "rules:\n", "rules: []\n", 1))
			w.Rest(5 * time.Second)
			if w.inventoryOf(rule) == "" {
				t.Error("the inventory has forgotten the rule")
			}
			lift()
			w.ruleGone(rule, other)
		})
	}
}

// orderedFoo is a rule whose Foos have a finalizer, and a child of another group.
const orderedFoo = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: widget-NAMESPACE
  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo, namespaces: [NAMESPACE]}
  teardown: ordered
  children:
  - id: w
    template: {apiVersion: test.reconcel.dev/v1, kind: Widget, metadata: {name: "${self.metadata.name}-w"}, spec: {value: x}}
`

const fooOne = "apiVersion: samplecontroller.k8s.io/v1alpha1\nkind: Foo\nmetadata: {name: one}\nspec: {deploymentName: one, replicas: 1}\n"

// TestGroupMissingWhilePrimaryEnds hides the group of a child from the discovery of a new
// process while the primary is being deleted. The child does not outlive the primary.
func TestGroupMissingWhilePrimaryEnds(t *testing.T) {
	for _, absence := range []faultproxy.Absence{faultproxy.GroupMissing, faultproxy.GroupEmpty} {
		t.Run(string(absence), func(t *testing.T) {
			w := newWorld(t)
			w.CRD(w.fooCRD())
			w.CRD(widgetCRD)
			in := w.run(orderedFoo)
			w.Create(fooOne)
			w.Is(foos, "one", "Ready", "True")
			in.stop()
			w.deleteWith(foos, "one", metav1.DeletePropagationBackground)
			proxy := faultproxy.Start(t, w.Cluster.Config())
			lift := proxy.HideGroup("test.reconcel.dev", absence)
			w.runWith(access.Options{Config: &rest.Config{Host: proxy.URL()}}, orderedFoo)
			w.saysOf(foos, "Ready", "Deleting", "waits for kind Widget")
			w.Has(widgets, "one-w", nil)
			lift()
			w.gone(foos, "one")
			w.gone(widgets, "one-w")
		})
	}
}

// TestGroupMissingWhileUninstalling hides the group of the primaries from the discovery of
// an uninstallation. It keeps its inventory until no finalizer is left.
func TestGroupMissingWhileUninstalling(t *testing.T) {
	w := newWorld(t)
	w.CRD(w.fooCRD())
	w.CRD(widgetCRD)
	in := w.run(orderedFoo)
	w.Create(fooOne)
	w.Is(foos, "one", "Ready", "True")
	in.stop()
	proxy := faultproxy.Start(t, w.Cluster.Config())
	uninstall := func() error {
		options := access.Options{Config: &rest.Config{Host: proxy.URL()}, Namespace: w.Namespace, Log: slog.New(slog.DiscardHandler)}
		return engine.Uninstall(context.Background(), options, engine.Uninstallation{Tell: func(string, string) {}})
	}
	lift := proxy.HideGroup("samplecontroller.k8s.io", faultproxy.GroupMissing)
	if err := uninstall(); err == nil || !strings.Contains(err.Error(), "CustomResourceDefinition foos.samplecontroller.k8s.io exists") {
		t.Errorf("while the group is hidden: %v", err)
	}
	if w.inventoryOf(w.Fill("widget-NAMESPACE")) == "" {
		t.Error("the inventory has forgotten the rule")
	}
	lift()
	if err := uninstall(); err != nil {
		t.Error(err)
	}
	w.finalizers(foos, "one")
	w.gone(configs, "reconcel-inventory")
}
