//go:build integration

package engine_test

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"reconcel/engine/access"
	"reconcel/rules"
	"reconcel/test/faultproxy"
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

const copiesChild = `  - id: copies
    replicas: self.spec.replicas
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {generateName: "${self.metadata.name}-copy-"}
      data: {value: "${self.spec.value}"}
`

// TestCopiesWithoutOwner removes the owner references of interchangeable objects while no
// process runs, and changes their number and content. The next process deletes those that
// are too many, and restores the others.
func TestCopiesWithoutOwner(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	in := w.run(widgetRules("", copiesChild))
	primary := w.Create(widget("one", "value: first, replicas: 3"))
	w.says(widgets, "one", "Ready", "True", "")
	in.stop()
	for _, u := range w.all(configs) {
		w.Patch(configs, u.GetName(), noOwner)
	}
	w.Patch(widgets, "one", `{"spec":{"value":"second","replicas":1}}`)

	w.run(widgetRules("", copiesChild))
	w.Eventually("one current object", func() error {
		all := w.all(configs)
		if len(all) != 1 {
			return fmt.Errorf("there are %d", len(all))
		}
		if value, _, _ := unstructured.NestedString(all[0].Object, "data", "value"); value != "second" {
			return fmt.Errorf("its value is %q", value)
		}
		return nil
	})
	w.belongs(configs, w.all(configs)[0].GetName(), primary)
	w.says(widgets, "one", "Ready", "True", "")
}

// TestOrphanedCopiesStay deletes a primary, but not its interchangeable objects, and then
// the rule.
func TestOrphanedCopiesStay(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	in := w.run(widgetRules("", copiesChild))
	w.orphanCopies(func() {})
	in.stop()
	w.run(widgetRules("", configMapChild("a", "${self.metadata.name}-a")))
	w.Quiet(2 * time.Second)
	w.hasOrphanedCopies()
}

// TestOrphanedCopiesStayBehindALaggingWatch shows the engine the objects without their owner
// before it shows the deletion of the owner.
func TestOrphanedCopiesStayBehindALaggingWatch(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	proxy := faultproxy.Start(t, w.Cluster.Config())
	w.runWith(access.Options{Config: &rest.Config{Host: proxy.URL()}}, widgetRules("", copiesChild))
	lift := func() {}
	w.orphanCopies(func() {
		lift = proxy.DelayWatch(func(r faultproxy.Request) bool { return r.Resource == "widgets" }, time.Hour)
	})
	lift()
	w.Quiet(2 * time.Second)
	w.hasOrphanedCopies()
}

// orphanCopies creates a primary with two objects, and deletes it without them.
func (w *world) orphanCopies(beforeDeletion func()) {
	w.Helper()
	w.Create(widget("one", "value: first, replicas: 2"))
	w.says(widgets, "one", "Ready", "True", "")
	beforeDeletion()
	w.deleteWith(widgets, "one", metav1.DeletePropagationOrphan)
	w.gone(widgets, "one")
	w.Quiet(2 * time.Second)
}

func (w *world) hasOrphanedCopies() {
	w.Helper()
	all := w.all(configs)
	if len(all) != 2 {
		w.Fatalf("of 2 orphaned objects, %d are left", len(all))
	}
	for _, u := range all {
		if _, controlled := rules.ControllerOf(u.Object); controlled {
			w.Errorf("%s has an owner again", u.GetName())
		}
	}
}
