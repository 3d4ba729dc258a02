//go:build integration

package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"reconcel/test/e2e"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// onChange returns the ConfigMap <name>-<id> with an onChange policy.
func onChange(id, policy string) string {
	return strings.Replace(configMapChild(id, "${self.metadata.name}-"+id), "    template:", "    onChange: "+policy+"\n    template:", 1)
}

func TestKeptChildIsLeftAlone(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	in := w.run(widgetRules("", onChange("kept", "keep")))
	w.Create(widget("one", "value: first"))
	w.Has(configs, "one-kept", map[string]any{"data.value": "first"})
	w.Is(widgets, "one", "Ready", "True")

	since := time.Now()
	w.Patch(widgets, "one", `{"spec":{"value":"second"}}`)
	w.Is(widgets, "one", "Ready", "True")
	w.Patch(configs, "one-kept", `{"data":{"value":"edited"},"metadata":{"labels":{"reconcel.dev/child":"kept"}}}`)
	w.Patch(configs, "one-kept", `{"metadata":{"ownerReferences":null}}`)
	w.Rest(2 * time.Second)
	untouched := func() {
		t.Helper()
		for _, r := range w.Writes(since) {
			if r.Resource == "configmaps" && r.Name == "one-kept" {
				t.Errorf("a kept object got a %s", r.Verb)
			}
		}
		u := w.Get(configs, "one-kept")
		if value, _, _ := unstructured.NestedString(u.Object, "data", "value"); value != "edited" || len(u.GetOwnerReferences()) > 0 {
			t.Errorf("the object is %v", u.Object)
		}
		w.Is(widgets, "one", "Ready", "True")
	}
	untouched()
	in.stop()
	w.run(widgetRules("", onChange("kept", "keep")))
	w.Patch(widgets, "one", `{"spec":{"value":"third"}}`)
	w.Is(widgets, "one", "Ready", "True")
	untouched()

	w.Delete(configs, "one-kept")
	w.returns(configs, "one-kept")
	w.Has(configs, "one-kept", map[string]any{"data.value": "third"})
}

func (w *world) uid(kind schema.GroupVersionKind, name string) string {
	w.Helper()
	u := w.Get(kind, name)
	if u == nil {
		w.Fatalf("%s %s does not exist", kind.Kind, name)
	}
	return string(u.GetUID())
}

// another waits until an object has been replaced.
func (w *world) another(kind schema.GroupVersionKind, name, than string) {
	w.Helper()
	w.Eventually(kind.Kind+" "+name+" to be replaced", func() error {
		u := w.Get(kind, name)
		if u == nil || u.GetDeletionTimestamp() != nil {
			return errors.New("it is gone")
		}
		if string(u.GetUID()) == than {
			return errors.New("it is the same as before")
		}
		return nil
	})
}

func TestReplacedChild(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	in := w.run(widgetRules("", onChange("a", "replace"), configMapChild("b", "${a.metadata.uid}")))
	w.Create(widget("one", "value: first"))
	w.Is(widgets, "one", "Ready", "True")
	first := w.uid(configs, "one-a")

	// Drift is repaired in place, even if it removes reconcel's marks.
	for _, foreign := range []string{`{"data":{"value":"edited"}}`, `{"metadata":{"annotations":{"reconcel.dev/applied":null}}}`, `{"metadata":{"ownerReferences":null}}`} {
		w.Patch(configs, "one-a", foreign)
		w.Eventually(foreign+" to be repaired", func() error {
			u := w.Get(configs, "one-a")
			value, _, _ := unstructured.NestedString(u.Object, "data", "value")
			if value != "first" || u.GetAnnotations()["reconcel.dev/applied"] == "" || metav1.GetControllerOf(u) == nil {
				return fmt.Errorf("it is %v", u.Object)
			}
			return nil
		})
	}
	if now := w.uid(configs, "one-a"); now != first {
		t.Error("drift was repaired by replacing the object")
	}
	in.stop()
	w.Patch(configs, "one-a", `{"metadata":{"annotations":{"reconcel.dev/applied":null}}}`)
	w.run(widgetRules("", onChange("a", "replace"), configMapChild("b", "${a.metadata.uid}")))
	w.Eventually("the mark to be back", func() error {
		if w.Get(configs, "one-a").GetAnnotations()["reconcel.dev/applied"] == "" {
			return errors.New("it is not")
		}
		return nil
	})
	if now := w.uid(configs, "one-a"); now != first {
		t.Error("an object was replaced for want of a mark")
	}

	w.Patch(widgets, "one", `{"spec":{"value":"second"}}`)
	w.another(configs, "one-a", first)
	w.Has(configs, "one-a", map[string]any{"data.value": "second"})
	w.told("Widget", "one", "Replaced")
	w.Lacks(configs, first)
	w.Has(configs, w.uid(configs, "one-a"), nil)
	w.Is(widgets, "one", "Ready", "True")

	// Drift that cannot be repaired in place replaces the object.
	second := w.uid(configs, "one-a")
	w.Patch(configs, "one-a", `{"immutable":true,"data":{"value":"stuck"}}`)
	w.another(configs, "one-a", second)
	w.Has(configs, "one-a", map[string]any{"data.value": "second"})
	w.Lacks(configs, second)
	w.Is(widgets, "one", "Ready", "True")
	w.settles()
	w.Quiet(2 * time.Second)
}

// TestReplacedPodsAreSpared changes the image of five Pods. At most one may be
// unavailable at a time.
func TestReplacedPodsAreSpared(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	w.run(widgetRules("", podsChild))
	w.Create(podSet(5))
	w.Is(widgets, "set", "Ready", "True")
	since := time.Now()
	w.Patch(widgets, "set", `{"spec":{"image":"nginx"}}`)
	fewest, most := 5, 5
	e2e.Poll(w.T, "all Pods to have the new image", e2e.Patience, 5*time.Millisecond, func() error {
		isReady, current := 0, 0
		active := w.active()
		for i := range active {
			if e2e.Condition(&active[i], "Ready", "True") == nil {
				isReady++
			}
			containers, _, _ := unstructured.NestedSlice(active[i].Object, "spec", "containers")
			if containers[0].(map[string]any)["image"] == "nginx" {
				current++
			}
		}
		fewest, most = min(fewest, isReady), max(most, len(active))
		if current < 5 || isReady < 5 {
			return fmt.Errorf("%d of them", current)
		}
		return nil
	})
	if fewest < 4 || most > 5 {
		t.Errorf("there were as few as %d ready Pods, and as many as %d Pods", fewest, most)
	}
	w.Is(widgets, "set", "Ready", "True")
	deleted := 0
	for _, r := range w.Writes(since) {
		if r.Resource == "pods" && r.Verb == "delete" {
			deleted++
		}
	}
	if deleted != 5 {
		t.Errorf("%d Pods were deleted to replace five", deleted)
	}

	// Pods that cannot become ready are replaced all at once.
	w.Create("apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: none}\nspec: {hard: {pods: \"100\"}}\n")
	for _, u := range w.active() {
		w.Patch(pods, u.GetName(), `{"status":{"conditions":[{"type":"Ready","status":"False"}]}}`, "status")
	}
	w.Is(widgets, "set", "Ready", "False")
	w.Patch(widgets, "set", `{"spec":{"image":"busybox"}}`)
	w.Is(widgets, "set", "Ready", "True")
}

// TestReplacedElementsTakeTurns has elements that become ready only when the test allows
// it.
func TestReplacedElementsTakeTurns(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	w.run(widgetRules("", strings.Replace(entriesChild, "    template:", "    onChange: replace\n    maxUnavailable: 2\n    template:", 1)))
	w.Create(widget("one", "value: x, entries: [a, b, c, d, e]"))
	names := []string{"one-a", "one-b", "one-c", "one-d", "one-e"}
	good := func(names []string) {
		t.Helper()
		for _, name := range names {
			_, err := w.Resource(configs).Patch(w.Context(), name, types.MergePatchType, []byte(`{"data":{"state":"good"}}`), metav1.PatchOptions{})
			if err != nil && !apierrors.IsNotFound(err) { // The replacement may not exist yet.
				t.Fatal(err)
			}
		}
	}
	w.Has(configs, "one-e", nil)
	good(names)
	w.Is(widgets, "one", "Ready", "True")
	w.Patch(widgets, "one", `{"spec":{"value":"y"}}`)
	replaced := func() (found []string) {
		for _, name := range names {
			if u := w.Get(configs, name); u != nil {
				if value, _, _ := unstructured.NestedString(u.Object, "data", "value"); value == "y" {
					found = append(found, name)
				}
			}
		}
		return found
	}
	w.tells("one", `child "entries": 2 of 5 replaced`)
	w.Rest(2 * time.Second)
	first := replaced()
	if len(first) != 2 {
		t.Errorf("%v were replaced before the first two got ready", first)
	}
	for _, name := range names {
		if w.Get(configs, name) == nil {
			t.Errorf("%s is missing", name)
		}
	}
	good(first) // Not all: a replacement that is made meanwhile would be ready at once, and free the last turn.
	w.tells("one", `child "entries": 4 of 5 replaced`)
	w.Eventually("all to be replaced", func() error {
		good(names)
		if now := replaced(); len(now) != 5 {
			return fmt.Errorf("only %v are", now)
		}
		return nil
	})
	good(names)
	w.Is(widgets, "one", "Ready", "True")
}

// TestWorseReplacementIsNotMade gives a child a rendering that the API server rejects.
// The working object must not be deleted for it.
func TestWorseReplacementIsNotMade(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	w.run(widgetRules("", `  - id: job
    onChange: replace
    template:
      apiVersion: batch/v1
      kind: Job
      metadata: {name: "${self.metadata.name}-a"}
      spec:
        template:
          spec: {restartPolicy: "${self.spec.value}", containers: [{name: c, image: busybox}]}
`))
	w.Create(widget("one", "value: Never"))
	w.Has(jobs, "one-a", nil)
	before := w.Get(jobs, "one-a").GetUID()
	w.Patch(widgets, "one", `{"spec":{"value":"Sometimes"}}`)
	w.Is(widgets, "one", "Stalled", "True")
	w.told("Widget", "one", "Rejected")
	w.Rest(2 * time.Second)
	if now := w.Get(jobs, "one-a"); now == nil || now.GetUID() != before {
		t.Errorf("the Job that worked is gone: %v", now)
	}
	w.Patch(widgets, "one", `{"spec":{"value":"OnFailure"}}`)
	w.Has(jobs, "one-a", map[string]any{"spec.template.spec.restartPolicy": "OnFailure"})
}

func TestGateHoldsBackReplacement(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	gate := strings.Replace(configMapChild("gate", "${self.metadata.name}-gate"), "    template:", "    readyWhen: child.data.?open.orValue('') == 'yes'\n    template:", 1)
	w.run(widgetRules("", gate, strings.Replace(onChange("a", "replace"), "    template:", "    after: [gate]\n    template:", 1)))
	w.Create(widget("one", "value: first"))
	w.Has(configs, "one-gate", nil)
	w.Patch(configs, "one-gate", `{"data":{"open":"yes"}}`)
	w.Is(widgets, "one", "Ready", "True")
	first := w.uid(configs, "one-a")
	w.Patch(configs, "one-gate", `{"data":{"open":"no"}}`)
	w.Is(widgets, "one", "Ready", "False")
	w.Patch(widgets, "one", `{"spec":{"value":"second"}}`)
	w.Has(configs, "one-gate", map[string]any{"data.value": "second"})
	w.tells("one", "waits for gate")
	w.Rest(time.Second)
	if w.uid(configs, "one-a") != first {
		t.Error("the object was replaced before its time")
	}
	w.Patch(configs, "one-gate", `{"data":{"open":"yes"}}`)
	w.another(configs, "one-a", first)
	w.Is(widgets, "one", "Ready", "True")
}
