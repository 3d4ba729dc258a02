//go:build integration

package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"reconcel/test/e2e"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var jobs = e2e.GVK("batch/v1", "Job")

// finalizeJob is an entry of finalize that lasts as long as its Pod, or forever if it is
// suspended.
func finalizeJob(timeout string, suspended string) string {
	return `  finalize:
  - id: backup
    timeout: ` + timeout + `
    readyWhen: child.status.?succeeded.orValue(0) > 0
    template:
      apiVersion: batch/v1
      kind: Job
      metadata: {name: "${self.metadata.name}-backup"}
      spec:
        suspend: ` + suspended + `
        template: {spec: {restartPolicy: Never, containers: [{name: c, image: busybox}]}}
`
}

// gone waits until an object no longer exists.
func (w *world) gone(kind schema.GroupVersionKind, name string) {
	w.Helper()
	w.Eventually(kind.Kind+" "+name+" to be gone", func() error {
		if w.Get(kind, name) != nil {
			return errors.New("it exists")
		}
		return nil
	})
}

// finalizers waits until an object has exactly these finalizers.
func (w *world) finalizers(kind schema.GroupVersionKind, name string, want ...string) {
	w.Helper()
	w.Eventually(fmt.Sprintf("%s %s to have finalizers %v", kind.Kind, name, want), func() error {
		u := w.Get(kind, name)
		if u == nil {
			return errors.New("it does not exist")
		}
		if got := u.GetFinalizers(); !slices.Equal(got, want) {
			return fmt.Errorf("it has %v", got)
		}
		return nil
	})
}

// deleteWith deletes an object without waiting for its end.
func (w *world) deleteWith(kind schema.GroupVersionKind, name string, policy metav1.DeletionPropagation) {
	w.Helper()
	if err := w.Resource(kind).Delete(w.Context(), name, metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
		w.Fatal(err)
	}
}

// saysOf waits until a condition of the primary one has this reason and a message that
// contains this text.
func (w *world) saysOf(kind schema.GroupVersionKind, conditionType, reason, text string) {
	w.Helper()
	w.Eventually(fmt.Sprintf("%s one to say %s", kind.Kind, reason), func() error {
		u := w.Get(kind, "one")
		if u == nil {
			return errors.New("it does not exist")
		}
		list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
		for _, c := range list {
			entry := c.(map[string]any)
			if entry["type"] == conditionType && entry["reason"] == reason &&
				(strings.Contains(fmt.Sprint(entry["message"]), text) || w.HasNote(kind.Kind, "one", text)) {
				return nil
			}
		}
		return fmt.Errorf("it says %v", list)
	})
}

func TestFinalizeRunsBeforeEverythingGoes(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	w.run(widgetRules("", configMapChild("a", "${self.metadata.name}-a")) + finalizeJob("60s", "false"))
	w.Create(widget("one", "value: x"))
	w.Is(widgets, "one", "Ready", "True")
	w.finalizers(widgets, "one", w.Fill("reconcel.dev/widget-NAMESPACE"))
	if w.Get(jobs, "one-backup") != nil {
		t.Fatal("the Job was made while the Widget lives")
	}
	if a := w.Get(configs, "one-a"); len(a.GetOwnerReferences()) > 0 || a.GetAnnotations()["reconcel.dev/orphan"] != "" {
		t.Errorf("the child is not tracked by its annotation alone: %v", a.Object["metadata"])
	}
	w.settles()
	since, backup := time.Now(), w.watch(jobs, "one-backup")
	w.deleteWith(widgets, "one", metav1.DeletePropagationBackground)
	w.Eventually("the Job to succeed", backup.succeeded)
	w.gone(widgets, "one")
	w.gone(configs, "one-a")
	w.gone(jobs, "one-backup")
	made := 0
	for _, r := range w.Writes(since) {
		if r.Resource == "jobs" && r.Verb == "patch" {
			made++
		}
	}
	if made != 1 {
		t.Errorf("the Job was applied %d times", made)
	}
}

func TestFinalizeHoldsTheChildrenInForeground(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	w.run(widgetRules("", configMapChild("a", "${self.metadata.name}-a")) + finalizeJob("60s", "true"))
	w.Create(widget("one", "value: x"))
	w.Is(widgets, "one", "Ready", "True")
	w.deleteWith(widgets, "one", metav1.DeletePropagationForeground)
	w.Has(jobs, "one-backup", nil)
	w.saysOf(widgets, "Reconciling", "Finalizing", "Job/"+w.Namespace+"/one-backup")
	w.saysOf(widgets, "Ready", "Finalizing", "until ")
	w.settles()
	w.Quiet(2 * time.Second)
	if a := w.Get(configs, "one-a"); a == nil || a.GetDeletionTimestamp() != nil {
		t.Error("the child went before finalize was done")
	}
	// During teardown, reconcel no longer repairs, creates or updates these objects.
	w.Patch(configs, "one-a", `{"data":{"value":"edited"}}`)
	w.Patch(jobs, "one-backup", `{"spec":{"suspend":false}}`)
	w.gone(widgets, "one")
	w.gone(configs, "one-a")
	w.gone(jobs, "one-backup")
}

func TestFinalizeTimesOut(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	in := w.run(widgetRules("", configMapChild("a", "${self.metadata.name}-a")) + finalizeJob("2s", "true"))
	w.Create(widget("one", "value: x"))
	w.Is(widgets, "one", "Ready", "True")
	w.deleteWith(widgets, "one", metav1.DeletePropagationBackground)
	w.gone(widgets, "one")
	w.gone(configs, "one-a")
	w.gone(jobs, "one-backup")
	w.told("Widget", "one", "FinalizeTimeout")
	if text := in.log.String(); !strings.Contains(text, "FinalizeTimeout") || !strings.Contains(text, "one-backup") {
		t.Error("the log does not name the Job")
	}
}

func TestFinalizeOutlivesARestart(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	source := widgetRules("", configMapChild("a", "${self.metadata.name}-a")) + finalizeJob("60s", "true")
	in := w.run(source)
	w.Create(widget("one", "value: x"))
	w.Is(widgets, "one", "Ready", "True")
	w.deleteWith(widgets, "one", metav1.DeletePropagationBackground)
	w.Has(jobs, "one-backup", nil)
	uid := w.Get(jobs, "one-backup").GetUID()
	in.stop()
	w.Has(configs, "one-a", nil)
	w.Patch(jobs, "one-backup", `{"spec":{"suspend":false}}`)
	w.Has(jobs, "one-backup", map[string]any{"status.succeeded": 1, "metadata.uid": uid})
	w.run(source)
	w.gone(widgets, "one")
	w.gone(configs, "one-a")
	w.gone(jobs, "one-backup")
}

// TestFinalizeIsDoneOnce deletes the completed Job while the children are still being
// deleted.
func TestFinalizeIsDoneOnce(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	source := widgetRules("", configMapChild("a", "${self.metadata.name}-a")) + finalizeJob("60s", "false")
	in := w.run(source)
	w.Create(widget("one", "value: x"))
	w.Is(widgets, "one", "Ready", "True")
	w.Patch(configs, "one-a", `{"metadata":{"finalizers":["test.reconcel.dev/hold"]}}`)
	w.deleteWith(widgets, "one", metav1.DeletePropagationBackground)
	w.saysOf(widgets, "Ready", "Deleting", "ConfigMap/"+w.Namespace+"/one-a")
	in.stop()
	w.Delete(jobs, "one-backup")
	w.gone(jobs, "one-backup")
	since := time.Now()
	w.run(source)
	w.settles()
	w.Patch(configs, "one-a", `{"metadata":{"finalizers":null}}`)
	w.gone(widgets, "one")
	if n := w.applies(since, "jobs"); n > 0 {
		t.Errorf("the Job was made again %d times", n)
	}
}

const orderedTeardown = "  teardown: ordered\n"

func after(child, id string) string {
	return strings.Replace(child, "    template:", "    after: ["+id+"]\n    template:", 1)
}

func TestOrderedTeardown(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	orphan := strings.Replace(configMapChild("o", "${self.metadata.name}-o"), "    template:", "    onDelete: orphan\n    template:", 1)
	w.run(widgetRules("", configMapChild("a", "${self.metadata.name}-a"), after(configMapChild("b", "${self.metadata.name}-b"), "a"),
		after(configMapChild("c", "${self.metadata.name}-c"), "b"), orphan) + orderedTeardown)
	w.Create(widget("one", "value: x"))
	w.Is(widgets, "one", "Ready", "True")
	w.finalizers(widgets, "one", w.Fill("reconcel.dev/widget-NAMESPACE"))
	for _, name := range []string{"one-a", "one-b", "one-c"} {
		w.Patch(configs, name, `{"metadata":{"finalizers":["test.reconcel.dev/hold"]}}`)
	}
	w.deleteWith(widgets, "one", metav1.DeletePropagationBackground)
	order := []string{"one-c", "one-b", "one-a"}
	for i, name := range order {
		w.Eventually(name+" to be on its way out", func() error {
			if u := w.Get(configs, name); u == nil || u.GetDeletionTimestamp() == nil {
				return errors.New("it is not")
			}
			return nil
		})
		w.saysOf(widgets, "Ready", "Deleting", name)
		w.Rest(500 * time.Millisecond)
		for _, later := range order[i+1:] {
			if u := w.Get(configs, later); u == nil || u.GetDeletionTimestamp() != nil {
				t.Errorf("%s goes before %s is gone", later, name)
			}
		}
		w.Patch(configs, name, `{"metadata":{"finalizers":null}}`)
		w.gone(configs, name)
	}
	w.gone(widgets, "one")
	w.Rest(time.Second)
	if w.Get(configs, "one-o") == nil {
		t.Error("the orphan has gone, too")
	}
}

func TestFinalizerGoesWhenNothingNeedsIt(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	rest := finalizeJob("60s", "true")
	in := w.run(widgetRules("", configMapChild("a", "${self.metadata.name}-a")) + rest)
	w.Create(widget("one", "value: x"))
	w.Is(widgets, "one", "Ready", "True")
	w.finalizers(widgets, "one", w.Fill("reconcel.dev/widget-NAMESPACE"))
	in.stop()
	w.run(widgetRules("", configMapChild("a", "${self.metadata.name}-a")))
	w.finalizers(widgets, "one")
	if u := w.Get(configs, "one-a"); len(u.GetOwnerReferences()) != 1 || u.GetAnnotations()["reconcel.dev/owner"] != "" {
		t.Errorf("the child does not belong by owner reference again: %v", u.Object["metadata"])
	}
	w.settles()
	w.Delete(widgets, "one")
	w.gone(configs, "one-a")
}

func TestLeavingWithFinalize(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	orphan := strings.Replace(configMapChild("o", "${self.metadata.name}-o"), "    template:", "    onDelete: orphan\n    template:", 1)
	w.run(widgetRules("when: self.spec.?enabled.orValue(true)", configMapChild("a", "${self.metadata.name}-a"), orphan) + finalizeJob("60s", "false") +
		"  patch: {metadata: {labels: {patched: \"yes\"}}}\n")
	w.Create(widget("one", "value: x"))
	w.Is(widgets, "one", "Ready", "True")
	w.Has(widgets, "one", map[string]any{"metadata.labels.patched": "yes"})
	for range 2 { // Selected again, then deselected again.
		since := time.Now()
		w.Patch(widgets, "one", `{"spec":{"enabled":false}}`)
		w.gone(configs, "one-a")
		w.gone(jobs, "one-backup")
		w.finalizers(widgets, "one")
		if u := w.Get(widgets, "one"); len(u.GetLabels()) > 0 || len(u.GetAnnotations()) > 0 {
			t.Errorf("something is left on the Widget: %v", u.Object["metadata"])
		}
		if n := w.applies(since, "jobs"); n != 1 {
			t.Errorf("the Job was applied %d times", n)
		}
		if w.Get(configs, "one-o") == nil {
			t.Error("the orphan has gone, too")
		}
		w.settles()
		w.Patch(widgets, "one", `{"spec":{"enabled":true}}`)
		w.Has(configs, "one-a", nil)
		w.finalizers(widgets, "one", w.Fill("reconcel.dev/widget-NAMESPACE"))
		w.Is(widgets, "one", "Ready", "True")
	}
}

func TestFinalizeInAnEndingNamespace(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	ns := w.Create("apiVersion: v1\nkind: Namespace\nmetadata: {generateName: ending-}\n").GetName()
	source := strings.ReplaceAll(widgetRules("", configMapChild("a", "${self.metadata.name}-a"))+finalizeJob("60s", "true"), "NAMESPACE", ns)
	in := w.run(source)
	ending := w.in(ns)
	ending.Create(widget("one", "value: x"))
	ending.Is(widgets, "one", "Ready", "True")
	if err := w.Client.Resource(namespacesResource).Delete(t.Context(), ns, deleteNow); err != nil {
		t.Fatal(err)
	}
	ending.gone(widgets, "one")
	if !strings.Contains(in.log.String(), "FinalizeSkipped") {
		t.Error("the log does not say that finalize was skipped")
	}
}

// TestNameIsTakenAgainAtOnce creates a new primary with the name of one whose children
// are still being deleted. A foreign write has removed reconcel's finalizer.
func TestNameIsTakenAgainAtOnce(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	w.run(widgetRules("", configMapChild("a", "${self.metadata.name}-a")) + orderedTeardown)
	w.Create(widget("one", "value: x"))
	w.Is(widgets, "one", "Ready", "True")
	w.settles()
	w.Patch(configs, "one-a", `{"metadata":{"finalizers":["test.reconcel.dev/hold"]}}`)
	w.Delete(widgets, "one")
	w.saysOf(widgets, "Ready", "Deleting", "one-a")
	w.Patch(widgets, "one", `{"metadata":{"finalizers":null}}`)
	w.gone(widgets, "one")
	again := w.Create(widget("one", "value: z"))
	w.Is(widgets, "one", "Reconciling", "True")
	w.Patch(configs, "one-a", `{"metadata":{"finalizers":null}}`)
	w.Has(configs, "one-a", map[string]any{"data.value": "z"})
	w.Is(widgets, "one", "Ready", "True")
	if owner := w.Get(configs, "one-a").GetAnnotations()["reconcel.dev/owner"]; !strings.HasPrefix(owner, string(again.GetUID())) {
		t.Errorf("it belongs to %s", owner)
	}
}

// TestRejectedFinalizeTimesOut has an entry of finalize that the API server rejects.
func TestRejectedFinalizeTimesOut(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	w.run(widgetRules("", configMapChild("a", "${self.metadata.name}-a")) + strings.Replace(finalizeJob("4s", "true"), "restartPolicy: Never", "restartPolicy: Always", 1))
	w.Create(widget("one", "value: x"))
	w.Is(widgets, "one", "Ready", "True")
	w.Delete(widgets, "one")
	w.saysOf(widgets, "Ready", "Finalizing", "restartPolicy")
	w.gone(widgets, "one")
	w.gone(configs, "one-a")
	w.told("Widget", "one", "FinalizeTimeout")
}

// TestForeignObjectBlocksNothing has a foreign object with the name of a child. It stays
// when the primary is deleted.
func TestForeignObjectBlocksNothing(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	w.run(widgetRules("", configMapChild("a", "${self.metadata.name}-a"), configMapChild("b", "${self.metadata.name}-b")) + orderedTeardown)
	w.Create("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one-a}\ndata: {mine: \"yes\"}\n")
	w.Create(widget("one", "value: x"))
	w.Has(configs, "one-b", nil)
	w.told("Widget", "one", "ErrResourceExists")
	w.Delete(widgets, "one")
	w.gone(widgets, "one")
	w.gone(configs, "one-b")
	w.Has(configs, "one-a", map[string]any{"data.mine": "yes"})
}

// TestTeardownResumesFromAnyStep stops the engine repeatedly, at different times after
// the deletion.
func TestTeardownResumesFromAnyStep(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	source := widgetRules("", configMapChild("a", "${self.metadata.name}-a"), after(configMapChild("b", "${self.metadata.name}-b"), "a")) +
		finalizeJob("60s", "false") + orderedTeardown
	in := w.run(source)
	for i := range 6 {
		w.Create(widget(fmt.Sprint("w", i), "value: x"))
		w.Is(widgets, fmt.Sprint("w", i), "Ready", "True")
	}
	for i := range 6 {
		w.deleteWith(widgets, fmt.Sprint("w", i), metav1.DeletePropagationBackground)
		w.Rest(time.Duration(i) * 15 * time.Millisecond)
		in.stop()
		in = w.run(source)
		w.Rest(time.Duration(i) * 150 * time.Millisecond)
		in.stop()
		in = w.run(source)
	}
	for i := range 6 {
		w.gone(widgets, fmt.Sprint("w", i))
		for _, child := range []string{"a", "b"} {
			w.gone(configs, fmt.Sprintf("w%d-%s", i, child))
		}
		w.gone(jobs, fmt.Sprintf("w%d-backup", i))
	}
}
