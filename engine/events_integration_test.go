//go:build integration

package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestEventsAreFew prunes three children of a resource. One Event names them, and none says
// that the resource is ready: its condition does.
func TestEventsAreFew(t *testing.T) {
	w := newWorldAlone(t)
	w.CRD(widgetCRD)
	w.run(widgetRules("", `  - id: item
    forEach: [{name: name, in: "self.spec.value.split(',')"}]
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "one-${name}"}}
`))
	w.Create(widget("one", "value: 'a,b,c,d'"))
	w.Is(widgets, "one", "Ready", "True")
	w.Patch(widgets, "one", `{"spec":{"value":"a"}}`)
	w.Lacks(configs, "one-d")
	w.told("Widget", "one", "Pruned")
	w.Is(widgets, "one", "Ready", "True")
	for _, name := range []string{"one-b", "one-c", "one-d"} {
		w.Eventually("an Event that names "+name, func() error {
			if !w.HasNote("Widget", "one", "deleted ConfigMap/"+w.Namespace+"/"+name) {
				return fmt.Errorf("only %v", w.notes("Widget", "one"))
			}
			return nil
		})
	}
	if reasons := w.EventReasons("Widget", "one"); !slices.Equal(reasons, []string{"Pruned"}) {
		t.Errorf("the Events are %v: %s", reasons, w.notes("Widget", "one"))
	}
}

// notes returns the notes of the Events about an object.
func (w *world) notes(kind, name string) string {
	var all []string
	for _, event := range w.Events(kind, name) {
		note, _, _ := unstructured.NestedString(event, "note")
		all = append(all, note)
	}
	return strings.Join(all, "\n")
}

// TestConditionsSendEvents changes a condition that sends Events. Another process repeats none.
func TestConditionsSendEvents(t *testing.T) {
	w := newWorldAlone(t)
	w.CRD(widgetCRD)
	rule := widgetRules("", configMapChild("a", "${self.metadata.name}-a")+`  conditions:
  - type: Short
    when: size(self.spec.value) < 3
    message: it has ${self.spec.value}
    event: '${size(self.spec.value) < 3 ? "Normal" : "Warning"}'
`)
	in := w.run(rule)
	w.Create(widget("one", "value: x"))
	w.told("Widget", "one", "Short")
	w.Patch(widgets, "one", `{"spec":{"value":"long"}}`)
	w.told("Widget", "one", "NotShort")
	w.Is(widgets, "one", "Ready", "True")
	w.settles()
	in.stop()
	w.run(rule)
	w.Silent(3 * time.Second)
	if got := w.notes("Widget", "one"); got != "it has x\nit has long" && got != "it has long\nit has x" {
		t.Errorf("the Events are:\n%s", got)
	}
	for _, event := range w.Events("Widget", "one") {
		if want := map[any]string{"Short": "Normal", "NotShort": "Warning"}[event["reason"]]; event["type"] != want {
			t.Errorf("%v is %v, want %s", event["reason"], event["type"], want)
		}
	}
}
