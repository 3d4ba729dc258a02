//go:build integration

package engine_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Edits that remove marks of reconcel from a child.
const (
	noLabels      = `{"metadata":{"labels":null}}`
	noAnnotations = `{"metadata":{"annotations":null}}`
	noOwner       = `{"metadata":{"ownerReferences":null}}`
	noMarks       = `{"metadata":{"ownerReferences":null,"annotations":null}}`
)

// TestMarksRemovedWhileStopped removes marks of children while no process runs. The next
// process restores them, as a running process does.
func TestMarksRemovedWhileStopped(t *testing.T) {
	for name, edit := range map[string]string{"labels": noLabels, "annotations": noAnnotations, "owner": noOwner, "owner and annotations": noMarks} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.CRD(widgetCRD)
			source, namespace := w.acrossScopes("")
			other := w.in(namespace)
			in := w.run(source)
			primary := w.Create(widget("one", "value: first"))
			w.says(widgets, "one", "Ready", "True", "")
			in.stop()
			w.Patch(configs, "one-a", edit)
			other.Patch(configs, "one-far", edit)
			value := "first"
			if edit != noOwner { // The hash proves the owner only while the rendering is the same.
				value = "second"
			}
			w.Patch(widgets, "one", `{"spec":{"value":"`+value+`"}}`)

			w.run(source)
			w.Has(configs, "one-a", map[string]any{"data.value": value})
			other.Has(configs, "one-far", map[string]any{"data.value": value})
			w.belongs(configs, "one-a", primary)
			w.says(widgets, "one", "Ready", "True", "")
			w.deleteWith(widgets, "one", metav1.DeletePropagationBackground)
			w.gone(widgets, "one")
			other.gone(configs, "one-far")
		})
	}
}

// TestTeardownOfUnlabelledChildren removes the labels of children while no process runs,
// and then deletes the primary. The finalizer stays until the children are gone.
func TestTeardownOfUnlabelledChildren(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	source, namespace := w.acrossScopes("")
	other, global := w.in(namespace), w.Namespace+"-one"
	in := w.run(source)
	w.Create(widget("one", "value: first"))
	w.says(widgets, "one", "Ready", "True", "")
	in.stop()
	other.Patch(configs, "one-far", noLabels)
	w.Patch(globals, global, noLabels)
	w.deleteWith(widgets, "one", metav1.DeletePropagationBackground)

	w.run(source)
	w.gone(widgets, "one")
	other.gone(configs, "one-far")
	w.gone(globals, global)
}
