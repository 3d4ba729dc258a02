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
)

// adopting is a child that may take objects over.
func adopting(child string) string {
	return strings.Replace(child, "    template:", "    ifExists: adopt\n    template:", 1)
}

// free is a ConfigMap of nobody.
func free(name, metadata string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s%s}\ndata: {value: theirs, more: x}\n", name, metadata)
}

func (w *world) belongs(kind schemaGVK, name string, to *unstructured.Unstructured) {
	w.Helper()
	w.eventually(name+" to belong to "+to.GetName(), func() error {
		u := w.get(kind, name)
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
	w.crd(widgetCRD)
	w.run(widgetRules("", adopting(configMapChild("a", "${self.metadata.name}-a"))))
	before := w.create(free("one-a", ""))
	one := w.create(widget("one", "value: ours"))
	w.belongs(configs, "one-a", one)
	w.has(configs, "one-a", map[string]any{"metadata.uid": before.GetUID(), "data.value": "ours", "data.more": "x"})
	w.is(widgets, "one", "Ready", "True")
	w.told("Widget", "one", "Adopted")
	w.quiet(2 * time.Second)
	w.patch(configs, "one-a", `{"data":{"value":"edited"}}`)
	w.has(configs, "one-a", map[string]any{"data.value": "ours"})

	// What somebody controls is not taken, nor is what belongs to another primary.
	two := w.create(widget("two", "value: ours"))
	w.belongs(configs, "two-a", two)
	w.create(free("three-a", fmt.Sprintf(", ownerReferences: [{apiVersion: test.reconcel.dev/v1, kind: Widget, name: two, uid: %s, controller: true}]", two.GetUID())))
	w.create(free("four-a", fmt.Sprintf(`, annotations: {reconcel.dev/owner: "some-uid/Widget.test.reconcel.dev/%s/two"}`, w.namespace)))
	w.create(widget("three", "value: ours"))
	w.create(widget("four", "value: ours"))
	for _, name := range []string{"three", "four"} {
		w.told("Widget", name, "ErrResourceExists")
		w.is(widgets, name, "Stalled", "True")
		w.has(configs, name+"-a", map[string]any{"data.value": "theirs"})
	}
}

// TestAdoptionOfWhatAFormerSelfLeft deletes a primary whose child is to stay,
// and makes it again.
func TestAdoptionOfWhatAFormerSelfLeft(t *testing.T) {
	w := newWorld(t)
	w.crd(widgetCRD)
	w.run(widgetRules("", strings.Replace(adopting(configMapChild("b", "${self.metadata.name}-b")), "    template:", "    onDelete: orphan\n    template:", 1)))
	first := w.create(widget("one", "value: first"))
	w.is(widgets, "one", "Ready", "True")
	uid := w.uid(configs, "one-b")
	w.delete(widgets, "one")
	w.lacks(widgets, "one")
	again := w.create(widget("one", "value: second"))
	w.has(configs, "one-b", map[string]any{"data.value": "second", "metadata.uid": uid})
	owner := w.get(configs, "one-b").GetAnnotations()["reconcel.dev/owner"]
	if !strings.HasPrefix(owner, string(again.GetUID())) || again.GetUID() == first.GetUID() {
		t.Errorf("it belongs to %s", owner)
	}
	w.is(widgets, "one", "Ready", "True")
}

func TestAdoptionThatIsRefused(t *testing.T) {
	w := newWorld(t)
	w.crd(widgetCRD)
	w.run(widgetRules("", adopting(configMapChild("a", "${self.metadata.name}-a"))))
	w.create("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one-a}\nimmutable: true\ndata: {value: theirs}\n")
	w.create(widget("one", "value: ours"))
	w.is(widgets, "one", "Stalled", "True")
	w.tells("one", "ConfigMap/"+w.namespace+"/one-a: the API server refuses the change of data")
	w.told("Widget", "one", "Refused")
	w.quiet(2 * time.Second)
	w.delete(configs, "one-a")
	w.patch(widgets, "one", `{"metadata":{"labels":{"nudge":"1"}}}`)
	w.has(configs, "one-a", map[string]any{"data.value": "ours"})
}

func TestAdoptedAndKept(t *testing.T) {
	w := newWorld(t)
	w.crd(widgetCRD)
	w.run(widgetRules("", adopting(onChange("a", "keep"))))
	w.create(free("one-a", ""))
	one := w.create(widget("one", "value: ours"))
	w.belongs(configs, "one-a", one)
	w.is(widgets, "one", "Ready", "True")
	w.patch(widgets, "one", `{"spec":{"value":"changed"}}`)
	w.is(widgets, "one", "Ready", "True")
	w.quiet(time.Second)
	w.has(configs, "one-a", map[string]any{"data.value": "theirs", "data.more": "x"})
}
