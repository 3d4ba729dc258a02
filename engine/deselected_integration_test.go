//go:build integration

package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"reconcel/test/e2e"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// selectedFooRules select only Foos with the label managed=yes.
var selectedFooRules = strings.Replace(fooRules, "namespaces: [NAMESPACE]}",
	"namespaces: [NAMESPACE], selector: {matchLabels: {managed: \"yes\"}}}", 1)

const selectedFoo = `
apiVersion: samplecontroller.k8s.io/v1alpha1
kind: Foo
metadata: {name: example, labels: {managed: "yes"}}
spec: {deploymentName: web, replicas: 1}
`

func TestFooLeavesWhileRunning(t *testing.T) {
	w := newWorld(t)
	w.CRD(w.fooCRD())
	w.run(selectedFooRules)
	w.Create(selectedFoo)
	w.Is(foos, "example", "Ready", "True")
	w.Patch(foos, "example", `{"metadata":{"labels":{"managed":null}}}`)
	w.Lacks(deployments, "web")
	w.Patch(foos, "example", `{"metadata":{"labels":{"managed":"yes"}}}`)
	w.Has(deployments, "web", nil)
	w.Is(foos, "example", "Ready", "True")
}

func TestFooLeavesWhileDown(t *testing.T) {
	w := newWorld(t)
	w.CRD(w.fooCRD())
	in := w.run(selectedFooRules)
	w.Create(selectedFoo)
	w.Create(strings.NewReplacer("example", "stays", "web", "kept").Replace(selectedFoo))
	w.Is(foos, "example", "Ready", "True")
	w.Is(foos, "stays", "Ready", "True")
	in.stop()
	w.Patch(foos, "example", `{"metadata":{"labels":{"managed":null}}}`)
	w.run(selectedFooRules)
	w.Lacks(deployments, "web")
	w.Has(deployments, "kept", nil)
}

func TestWhenTurnsFalse(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	w.run(widgetRules("when: self.spec.?enabled.orValue(true)", configMapChild("a", "${self.metadata.name}-a")))
	w.Create(widget("one", "value: x"))
	w.Has(configs, "one-a", map[string]any{"data.value": "x"})
	w.Patch(widgets, "one", `{"spec":{"enabled":false}}`)
	w.Lacks(configs, "one-a")
	w.Patch(widgets, "one", `{"spec":{"enabled":true}}`)
	w.Has(configs, "one-a", nil)
}

// widgetRules returns rules for Widgets with the given children.
func widgetRules(selection string, children ...string) string {
	return "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n- name: widget-NAMESPACE\n  for:\n    apiVersion: test.reconcel.dev/v1\n" +
		"    kind: Widget\n    namespaces: [NAMESPACE]\n    " + selection + "\n  children:\n" + strings.Join(children, "")
}

func configMapChild(id, name string) string {
	return fmt.Sprintf("  - id: %s\n    template:\n      apiVersion: v1\n      kind: ConfigMap\n      metadata: {name: \"%s\"}\n      data: {value: \"${self.spec.value}\"}\n", id, name)
}

func widget(name, spec string) string {
	return fmt.Sprintf("apiVersion: test.reconcel.dev/v1\nkind: Widget\nmetadata: {name: %s}\nspec: {%s}\n", name, spec)
}

const serviceChild = `  - id: service
    template:
      apiVersion: v1
      kind: Service
      metadata: {name: "${self.metadata.name}"}
      spec: {selector: {app: x}, ports: [{port: 80}]}
`

var services = e2e.GVK("v1", "Service")

func TestChildrenRemovedFromRulesWhileDown(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	in := w.run(widgetRules("", configMapChild("a", "${self.metadata.name}-a"), configMapChild("b", "${self.metadata.name}-b"), serviceChild))
	w.Create(widget("one", "value: x"))
	w.Is(widgets, "one", "Ready", "True")
	w.Has(configs, "one-b", nil)
	w.Has(services, "one", nil)
	in.stop()

	// b is one of two ConfigMaps; the Service is the last of its kind.
	w.run(widgetRules("", configMapChild("a", "${self.metadata.name}-a")))
	w.Lacks(configs, "one-b")
	w.Lacks(services, "one")
	w.Has(configs, "one-a", nil)
	w.Eventually("the inventory to forget Services", func() error {
		u := w.Get(configs, "reconcel-inventory")
		if text := fmt.Sprint(u.Object["data"]); strings.Contains(text, "Service") {
			return fmt.Errorf("it says %s", text)
		}
		return nil
	})
}

func TestRemovedRuleKeepsItsChildren(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	in := w.run(widgetRules("", configMapChild("a", "${self.metadata.name}-a")))
	w.Create(widget("one", "value: x"))
	w.Is(widgets, "one", "Ready", "True")
	in.stop()
	other := strings.Replace(widgetRules("", configMapChild("c", "${self.metadata.name}-c")), "name: widget", "name: another", 1)
	w.run(other)
	w.Has(configs, "one-c", nil)
	w.Is(widgets, "one", "Ready", "True")
	w.Has(configs, "one-a", nil)
}

func TestRenamedRuleTakesItsChildrenOver(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	in := w.run(widgetRules("", configMapChild("a", "${self.metadata.name}-a")))
	w.Create(widget("one", "value: x"))
	w.Is(widgets, "one", "Ready", "True")
	before := w.Get(configs, "one-a").GetUID()
	in.stop()
	w.run(strings.Replace(widgetRules("", configMapChild("a", "${self.metadata.name}-a")), "name: widget", "name: renamed", 1))
	w.Has(configs, "one-a", map[string]any{"metadata.uid": before})
	w.Eventually("the label of the new rule", func() error {
		if label := w.Get(configs, "one-a").GetLabels()["reconcel.dev/rule"]; label != w.Fill("renamed-NAMESPACE") {
			return fmt.Errorf("it is %q", label)
		}
		return nil
	})
}

func TestUnknownKindIsWaitedFor(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	late := strings.NewReplacer("widgets.test", "latecomers.test", "Widget", "Latecomer", "plural: widgets", "plural: latecomers", "singular: widget", "singular: latecomer").Replace(widgetCRD)
	rulesText := widgetRules("", configMapChild("a", "${self.metadata.name}-a")) +
		strings.NewReplacer("apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n", "", "name: widget", "name: late", "kind: Widget", "kind: Latecomer").
			Replace(widgetRules("", configMapChild("l", "${self.metadata.name}-l")))
	w.Cleanup(func() {
		_ = w.Client.Resource(crdResource).Delete(context.Background(), "latecomers.test.reconcel.dev", deleteNow)
	})
	w.run(rulesText)
	w.Create(widget("one", "value: x"))
	w.Is(widgets, "one", "Ready", "True")

	w.CRD(late)
	w.Eventually("a Latecomer to be accepted", func() error {
		w.Rediscover()
		u := e2e.Parse(t, strings.Replace(widget("two", "value: why"), "Widget", "Latecomer", 1))[0]
		_, err := w.Resource(u.GroupVersionKind()).Create(t.Context(), u, createOptions)
		return err
	})
	w.Has(configs, "two-l", map[string]any{"data.value": "why"})
}

func TestUnknownChildKindHoldsBackItsRule(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	w.Cleanup(func() {
		_ = w.Client.Resource(crdResource).Delete(context.Background(), "gadgets.test.reconcel.dev", deleteNow)
	})
	gadget := "  - id: gadget\n    template:\n      apiVersion: test.reconcel.dev/v1\n      kind: Gadget\n      metadata: {name: \"${self.metadata.name}\"}\n      spec: {x: 1}\n"
	w.run(widgetRules("", configMapChild("a", "${self.metadata.name}-a"), gadget))
	w.Create(widget("one", "value: x"))
	w.Is(widgets, "one", "Reconciling", "True")
	if text := fmt.Sprint(w.Get(widgets, "one").Object["status"]); !strings.Contains(text, "Gadget") {
		t.Errorf("the status does not name the kind: %s", text)
	}
	w.CRD(kindLike("Gadget"))
	w.Is(widgets, "one", "Ready", "True")
	w.Has(e2e.GVK("test.reconcel.dev/v1", "Gadget"), "one", map[string]any{"spec.x": 1})
}

func TestPoisonousObjectAffectsNoOther(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	w.run(widgetRules("", configMapChild("a", "${self.metadata.name}-a")))
	w.Create(widget("bad", "value: 7")) // A ConfigMap holds strings.
	w.Create(widget("worse", "other: x"))
	w.Create(widget("good", "value: x"))
	w.Is(widgets, "good", "Ready", "True")
	w.Is(widgets, "bad", "Stalled", "True")
	w.Is(widgets, "worse", "Stalled", "True")
	w.told("Widget", "bad", "Rejected")
	w.told("Widget", "worse", "RuleError")
	w.Quiet(5 * time.Second)
	w.Patch(widgets, "worse", `{"spec":{"value":"now"}}`)
	w.Is(widgets, "worse", "Ready", "True")
}

func TestFailingRuleLosesNothing(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	w.run(widgetRules("", configMapChild("a", "${self.metadata.name}-a"), configMapChild("b", "${self.spec.second}")))
	w.Create(widget("one", "value: x, second: extra"))
	w.Is(widgets, "one", "Ready", "True")
	w.Has(configs, "extra", nil)
	// The name of b can no longer be rendered, and a changes.
	w.Patch(widgets, "one", `{"spec":{"second":null,"value":"y"}}`)
	w.Has(configs, "one-a", map[string]any{"data.value": "y"})
	w.Is(widgets, "one", "Stalled", "True")
	w.Has(configs, "extra", map[string]any{"data.value": "x"})
}

const gatedChildren = `  - id: pod
    onChange: replace
    template:
      apiVersion: v1
      kind: Pod
      metadata: {name: "${self.metadata.name}"}
      spec: {containers: [{name: c, image: busybox}]}
  - id: info
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${self.metadata.name}-info"}
      data: {ip: "${pod.status.podIP}"}
  - id: last
    after: [pod]
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${self.metadata.name}-last"}
`

func TestChildrenWaitForEachOther(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	w.run(widgetRules("", gatedChildren))
	// The quota rejects the Pod, so that its dependents must wait.
	w.Create("apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: none}\nspec: {hard: {pods: \"0\"}}\n")
	w.Eventually("the quota to be counted", func() error {
		u := w.Get(e2e.GVK("v1", "ResourceQuota"), "none")
		if _, ok, _ := unstructured.NestedMap(u.Object, "status", "used"); !ok {
			return fmt.Errorf("not yet")
		}
		return nil
	})
	w.Create(widget("one", "value: x"))
	w.Is(widgets, "one", "Stalled", "True")
	if w.Get(configs, "one-info") != nil || w.Get(configs, "one-last") != nil {
		t.Error("a child was made before what it comes after")
	}
	text := fmt.Sprint(w.Get(widgets, "one").Object["status"])
	if !strings.Contains(text, "exceeded quota") {
		t.Errorf("the status does not tell the quota: %s", text)
	}
	w.Delete(e2e.GVK("v1", "ResourceQuota"), "none")
	w.Patch(widgets, "one", `{"metadata":{"labels":{"nudge":"1"}}}`)
	w.Has(configs, "one-info", map[string]any{})
	w.Has(configs, "one-last", nil)
	w.Is(widgets, "one", "Ready", "True")
}

// TestTwoVersionsOfOneKind renders objects of one kind through two versions. Each object
// appears in the caches of both versions.
func TestTwoVersionsOfOneKind(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	hpa := func(id, version string) string {
		return "  - id: " + id + "\n    template:\n      apiVersion: autoscaling/" + version + "\n      kind: HorizontalPodAutoscaler\n" +
			"      metadata: {name: \"${self.metadata.name}-" + id + "\"}\n      spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: none}}\n"
	}
	w.run(widgetRules("", hpa("old", "v1"), hpa("new", "v2")))
	w.Create(widget("one", "value: x"))
	old, current := e2e.GVK("autoscaling/v1", "HorizontalPodAutoscaler"), e2e.GVK("autoscaling/v2", "HorizontalPodAutoscaler")
	w.Has(old, "one-old", nil)
	w.Has(current, "one-new", nil)
	since := time.Now()
	w.Rest(3 * time.Second)
	for _, r := range w.Writes(since) {
		if r.Resource == "horizontalpodautoscalers" {
			t.Errorf("%s of %s", r, r.Name)
		}
	}
}
