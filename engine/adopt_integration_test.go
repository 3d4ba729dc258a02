//go:build integration

package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// adopting lets a child adopt existing objects.
func adopting(child string) string {
	return strings.Replace(child, "    template:", "    ifExists: adopt\n    template:", 1)
}

// free is a ConfigMap without an owner.
func free(name, metadata string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s%s}\ndata: {value: theirs, more: x}\n", name, metadata)
}

func (w *world) belongs(kind schema.GroupVersionKind, name string, to *unstructured.Unstructured) {
	w.Helper()
	w.Eventually(name+" to belong to "+to.GetName(), func() error {
		u := w.Get(kind, name)
		if u == nil {
			return errors.New("there is no such object")
		}
		if owner := metav1.GetControllerOf(u); owner == nil || owner.UID != to.GetUID() {
			return fmt.Errorf("it belongs to %v", owner)
		}
		return nil
	})
}

func TestAdoption(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	w.run(widgetRules("", adopting(configMapChild("a", "${self.metadata.name}-a"))))
	before := w.Create(free("one-a", ""))
	one := w.Create(widget("one", "value: ours"))
	w.belongs(configs, "one-a", one)
	w.Has(configs, "one-a", map[string]any{"metadata.uid": before.GetUID(), "data.value": "ours", "data.more": "x"})
	w.Is(widgets, "one", "Ready", "True")
	w.told("Widget", "one", "Adopted")
	w.Quiet(2 * time.Second)
	w.Patch(configs, "one-a", `{"data":{"value":"edited"}}`)
	w.Has(configs, "one-a", map[string]any{"data.value": "ours"})

	// Objects with another controller or of another primary are not adopted.
	two := w.Create(widget("two", "value: ours"))
	w.belongs(configs, "two-a", two)
	w.Create(free("three-a", fmt.Sprintf(", ownerReferences: [{apiVersion: test.reconcel.dev/v1, kind: Widget, name: two, uid: %s, controller: true}]", two.GetUID())))
	w.Create(free("four-a", fmt.Sprintf(`, annotations: {reconcel.dev/owner: "some-uid/Widget.test.reconcel.dev/%s/two"}`, w.Namespace)))
	w.Create(widget("three", "value: ours"))
	w.Create(widget("four", "value: ours"))
	for _, name := range []string{"three", "four"} {
		w.told("Widget", name, "ErrResourceExists")
		w.Is(widgets, name, "Stalled", "True")
		w.Has(configs, name+"-a", map[string]any{"data.value": "theirs"})
	}
}

// TestAdoptionOfWhatAFormerSelfLeft deletes a primary with an orphaned child, and creates
// the primary again.
func TestAdoptionOfWhatAFormerSelfLeft(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	w.run(widgetRules("", strings.Replace(adopting(configMapChild("b", "${self.metadata.name}-b")), "    template:", "    onDelete: orphan\n    template:", 1)))
	first := w.Create(widget("one", "value: first"))
	w.Is(widgets, "one", "Ready", "True")
	uid := w.uid(configs, "one-b")
	w.Delete(widgets, "one")
	w.Lacks(widgets, "one")
	again := w.Create(widget("one", "value: second"))
	w.Has(configs, "one-b", map[string]any{"data.value": "second", "metadata.uid": uid})
	owner := w.Get(configs, "one-b").GetAnnotations()["reconcel.dev/owner"]
	if !strings.HasPrefix(owner, string(again.GetUID())) || again.GetUID() == first.GetUID() {
		t.Errorf("it belongs to %s", owner)
	}
	w.Is(widgets, "one", "Ready", "True")
}

func TestAdoptionThatIsRefused(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	w.run(widgetRules("", adopting(configMapChild("a", "${self.metadata.name}-a"))))
	w.Create("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one-a}\nimmutable: true\ndata: {value: theirs}\n")
	w.Create(widget("one", "value: ours"))
	w.Is(widgets, "one", "Stalled", "True")
	w.tells("one", "ConfigMap/"+w.Namespace+"/one-a: the API server rejects the change of data")
	w.told("Widget", "one", "Rejected")
	w.Quiet(2 * time.Second)
	w.Delete(configs, "one-a")
	w.returns(configs, "one-a")
	w.Has(configs, "one-a", map[string]any{"data.value": "ours"})
}

func TestAdoptedAndKept(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	w.run(widgetRules("", adopting(onChange("a", "keep"))))
	w.Create(free("one-a", ""))
	one := w.Create(widget("one", "value: ours"))
	w.belongs(configs, "one-a", one)
	w.Is(widgets, "one", "Ready", "True")
	w.Patch(widgets, "one", `{"spec":{"value":"changed"}}`)
	w.Is(widgets, "one", "Ready", "True")
	w.Quiet(time.Second)
	w.Has(configs, "one-a", map[string]any{"data.value": "theirs", "data.more": "x"})
}
