//go:build integration

package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/test/devcluster"
	"reconcel/test/e2e"
)

var replicaSets = e2e.GVK("apps/v1", "ReplicaSet")

const replicaSetRules = `
apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: count-NAMESPACE
  for:
    apiVersion: apps/v1
    kind: ReplicaSet
    namespaces: [NAMESPACE]
    selector: {matchLabels: {counted: "yes"}}
  patch:
    metadata:
      labels: {wanted: "${string(self.spec.replicas)}", first: "${self.spec.?minReadySeconds.orValue(0) > 0 ? optional.none() : optional.of('yes')}"}
      annotations: {example.com/name: "${self.metadata.name}"}
`

const replicaSet = `
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web, labels: {counted: "yes", app: web}}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: busybox}]}
`

// label waits until an object has a label with this value, or no such label if the value
// is "".
func (w *world) label(kind schema.GroupVersionKind, name, key, value string) {
	w.Helper()
	w.Eventually(fmt.Sprintf("%s %s to have label %s=%q", kind.Kind, name, key, value), func() error {
		u := w.Get(kind, name)
		if u == nil {
			return fmt.Errorf("it does not exist")
		}
		if got, ok := u.GetLabels()[key]; got != value || ok != (value != "") {
			return fmt.Errorf("it has %v", u.GetLabels())
		}
		return nil
	})
}

func TestPatchOfABuiltInPrimary(t *testing.T) {
	w := newWorld(t)
	in := w.run(replicaSetRules)
	w.Create(replicaSet)
	w.label(replicaSets, "web", "wanted", "1")
	w.label(replicaSets, "web", "first", "yes")
	w.Patch(replicaSets, "web", `{"spec":{"replicas":2}}`)
	w.label(replicaSets, "web", "wanted", "2")
	w.Patch(replicaSets, "web", `{"metadata":{"labels":{"wanted":"many"}}}`)
	w.label(replicaSets, "web", "wanted", "2")
	w.Patch(replicaSets, "web", `{"metadata":{"labels":{"wanted":null}}}`)
	w.label(replicaSets, "web", "wanted", "2")
	w.Patch(replicaSets, "web", `{"spec":{"minReadySeconds":1}}`)
	w.label(replicaSets, "web", "first", "")
	w.settles()
	in.stop()

	since := time.Now()
	in = w.run(replicaSetRules)
	w.Rest(2 * time.Second)
	if found := w.Writes(since); len(found) > 0 {
		t.Errorf("writes after a restart: %v", devcluster.Tally(found))
	}

	// It is deselected while the engine runs, selected again, and deselected while no
	// engine runs.
	for range 2 {
		w.Patch(replicaSets, "web", `{"metadata":{"labels":{"counted":null}}}`)
		w.label(replicaSets, "web", "wanted", "")
		if u := w.Get(replicaSets, "web"); len(u.GetAnnotations()) > 0 || u.GetLabels()["app"] != "web" {
			t.Errorf("labels %v, annotations %v", u.GetLabels(), u.GetAnnotations())
		}
		w.Patch(replicaSets, "web", `{"metadata":{"labels":{"counted":"yes"}}}`)
		w.label(replicaSets, "web", "wanted", "2")
	}
	in.stop()
	w.Patch(replicaSets, "web", `{"metadata":{"labels":{"counted":null}}}`)
	w.run(replicaSetRules)
	w.label(replicaSets, "web", "wanted", "")
	w.settles()
}

func patchRule(name, labels string) string {
	return strings.Replace(strings.NewReplacer("apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n", "", "name: widget", "name: "+name, "  children:\n", "").
		Replace(widgetRules("")), "  for:", "  patch: {metadata: {labels: {"+labels+"}}}\n  for:", 1)
}

func TestTwoRulesPatchOnePrimary(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	head := "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n"
	in := w.run(head + patchRule("one", "a: \"${self.spec.a}\"") + patchRule("status", "b: \"${self.spec.b}\""))
	w.Create(widget("one", "a: x, b: u"))
	w.label(widgets, "one", "a", "x")
	w.label(widgets, "one", "b", "u")
	w.Is(widgets, "one", "Ready", "True")
	w.Patch(widgets, "one", `{"spec":{"b":"z"}}`)
	w.label(widgets, "one", "b", "z")
	w.label(widgets, "one", "a", "x")
	// A patch that cannot be rendered leaves the existing one in place, and does not
	// affect other rules.
	w.Patch(widgets, "one", `{"spec":{"b":7,"a":"v"}}`)
	w.label(widgets, "one", "a", "v")
	w.Is(widgets, "one", "Stalled", "True")
	w.told("Widget", "one", "RuleError")
	w.label(widgets, "one", "b", "z")
	w.Patch(widgets, "one", `{"spec":{"b":"not a label value"}}`)
	w.told("Widget", "one", "Rejected")
	w.label(widgets, "one", "b", "z")
	w.Patch(widgets, "one", `{"spec":{"b":"w"}}`)
	w.label(widgets, "one", "b", "w")
	w.Is(widgets, "one", "Ready", "True")
	w.settles()
	in.stop()

	// A rule loses its patch.
	w.run(head + patchRule("one", "a: \"${self.spec.a}\"") + strings.Replace(patchRule("status", "b: x"), "  patch: {metadata: {labels: {b: x}}}\n", "", 1))
	w.label(widgets, "one", "b", "")
	w.label(widgets, "one", "a", "v")
	w.settles()
}

func TestPatchOfSpec(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	source := strings.Replace(widgetRules(""), "  children:\n", "  patch: {spec: {size: \"${size(self.spec.value)}\", list: [{a: 1}, 2]}}\n", 1)
	w.run(source)
	w.Create(widget("one", "value: abc"))
	w.Has(widgets, "one", map[string]any{"spec.size": 3, "spec.value": "abc"})
	w.Is(widgets, "one", "Ready", "True")
	w.Patch(widgets, "one", `{"spec":{"size":9}}`)
	w.Has(widgets, "one", map[string]any{"spec.size": 3})
	w.Is(widgets, "one", "Ready", "True")
	w.settles()
}

func testPatchConflictLoopIsSlowedDown(t *testing.T) {
	w := newWorldAlone(t)
	w.CRD(widgetCRD)
	w.run("apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n" + patchRule("one", "a: ours"))
	w.Create(widget("one", "x: y"))
	w.label(widgets, "one", "a", "ours")
	since := time.Now()
	change := func(i int) { w.Patch(widgets, "one", fmt.Sprintf(`{"metadata":{"labels":{"a":"v%d"}}}`, i)) }
	w.changes(change, 5*time.Second)
	if n := w.applies(since, "widgets"); n < 2 || n > 11 {
		t.Errorf("%d repairs in 5 s", n)
	}
	w.fights("one", change)
	w.label(widgets, "one", "a", "ours")
}

// TestRejectedPatchLeavesFieldsOfOthers patches a Deployment so that the API server rejects it and names a
// field that its owner has set.
func TestRejectedPatchLeavesFieldsOfOthers(t *testing.T) {
	w := newWorld(t)
	w.run(rulesFile + `- name: recreate-NAMESPACE
  for: {apiVersion: apps/v1, kind: Deployment, namespaces: [NAMESPACE]}
  patch:
    metadata: {labels: {patched: "yes"}}
    spec: {strategy: {type: '${"recreate" in self.metadata.?labels.orValue({}) ? "Recreate" : "RollingUpdate"}'}}
`)
	w.Create(strings.NewReplacer("ReplicaSet", "Deployment", "  replicas: 1", "  replicas: 1\n  strategy: {rollingUpdate: {maxSurge: 3}}").Replace(replicaSet))
	w.label(deployments, "web", "patched", "yes")
	w.Patch(deployments, "web", `{"metadata":{"labels":{"recreate":"yes"}}}`)
	w.told("Deployment", "web", "Rejected")
	w.Rest(3 * time.Second)
	w.Has(deployments, "web", map[string]any{"spec.strategy.rollingUpdate.maxSurge": 3, "spec.strategy.type": "RollingUpdate"})
}
