//go:build integration

package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/engine/access"
	"reconcel/test/devcluster"
	"reconcel/test/e2e"
)

// lookupRules are rules for Widgets with these lookups, followed by the rest of the rule.
func lookupRules(lookups, rest string) string {
	return "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n- name: widget-NAMESPACE\n  for:\n    apiVersion: test.reconcel.dev/v1\n" +
		"    kind: Widget\n    namespaces: [NAMESPACE]\n  lookups:\n" + lookups + rest
}

const settingsLookup = `  - id: settings
    apiVersion: v1
    kind: ConfigMap
    name: ${self.spec.settings}
`

// copyOfSettings is a child that reads the settings, beside one that does not.
const copyOfSettings = `  children:
  - id: copy
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${self.metadata.name}-copy"}
      data: {color: "${settings.data.color}"}
  - id: other
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${self.metadata.name}-other"}
      data: {value: x}
`

func settings(name, color string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {color: %s}\n", name, color)
}

func color(c string) map[string]any { return map[string]any{"data.color": c} }

var (
	podKind    = e2e.GVK("v1", "Pod")
	namespaces = e2e.GVK("v1", "Namespace")
)

// soon is how long a primary may take to react to a change of a looked-up object.
const soon = time.Second

// follows waits until an object reflects a looked-up object, for at most soon.
func (w *world) follows(kind schema.GroupVersionKind, name string, want map[string]any) {
	w.Helper()
	if took := w.Has(kind, name, want); took > soon {
		w.Errorf("%s %s followed after %s", kind.Kind, name, took)
	}
}

// says waits until a condition of a primary has a message with this text.
func (w *world) says(kind schema.GroupVersionKind, name, conditionType, status, text string) {
	w.Helper()
	w.Eventually(fmt.Sprintf("%s %s to be %s=%s and say %q", kind.Kind, name, conditionType, status, text), func() error {
		u := w.Get(kind, name)
		if err := e2e.Condition(u, conditionType, status); err != nil {
			return err
		}
		list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
		for _, c := range list {
			entry := c.(map[string]any)
			if message, _ := entry["message"].(string); entry["type"] == conditionType && !strings.Contains(message, text) && !w.HasNote(kind.Kind, name, text) {
				return fmt.Errorf("it says %q", message)
			}
		}
		return nil
	})
}

func TestLookupByName(t *testing.T) {
	w := newWorldAlone(t)
	w.CRD(widgetCRD)
	in := w.run(lookupRules(settingsLookup, copyOfSettings))
	w.Create(widget("one", "settings: blue"))
	w.Has(configs, "one-other", nil)
	w.says(widgets, "one", "Ready", "False", "waits for ConfigMap/"+w.Namespace+"/blue")
	w.says(widgets, "one", "Reconciling", "True", `child "copy"`)

	w.Create(settings("blue", "blue"))
	w.follows(configs, "one-copy", color("blue"))
	w.Is(widgets, "one", "Ready", "True")
	w.Patch(configs, "blue", `{"data":{"color":"navy"}}`)
	w.follows(configs, "one-copy", color("navy"))

	// Another primary reads the same object, and both follow it.
	w.Create(widget("two", "settings: blue"))
	w.Has(configs, "two-copy", color("navy"))
	w.Patch(configs, "blue", `{"data":{"color":"sky"}}`)
	w.follows(configs, "one-copy", color("sky"))
	w.follows(configs, "two-copy", color("sky"))

	w.settles()
	in.stop()
	since := time.Now()
	w.run(lookupRules(settingsLookup, copyOfSettings))
	w.Quiet(3 * time.Second)
	if found := w.Writes(since); len(found) > 0 {
		t.Errorf("%d writes after the restart: %v", len(found), devcluster.Tally(found))
	}

	// A missing looked-up object does not delete any child.
	uid := w.Get(configs, "one-copy").GetUID()
	w.Delete(configs, "blue")
	w.says(widgets, "one", "Ready", "False", "waits for ConfigMap/"+w.Namespace+"/blue")
	w.says(widgets, "two", "Ready", "False", "waits for ConfigMap/"+w.Namespace+"/blue")
	w.settles()
	if u := w.Get(configs, "one-copy"); u == nil || u.GetUID() != uid {
		t.Fatal("the copy was taken away with what it was made from")
	}
	w.Has(configs, "one-copy", color("sky"))
	w.Create(settings("blue", "teal"))
	w.follows(configs, "one-copy", color("teal"))
	w.Is(widgets, "two", "Ready", "True")
}

// TestLookupOfAnotherName has a primary change which object it reads. It counts the
// reconciliations after a change of an object that no primary reads.
func TestLookupOfAnotherName(t *testing.T) {
	w := newWorldAlone(t)
	w.CRD(kindLike("Reader")) // Widgets of finished tests may still be in deletion.
	readers := e2e.GVK("test.reconcel.dev/v1", "Reader")
	reader := func(name string) string {
		return strings.Replace(widget(name, "settings: blue"), "Widget", "Reader", 1)
	}
	metrics := prometheus.NewRegistry()
	w.runWith(access.Options{Metrics: metrics}, strings.Replace(lookupRules(settingsLookup, copyOfSettings), "Widget", "Reader", 1))
	w.Create(settings("blue", "blue"))
	w.Create(settings("red", "red"))
	w.Create(settings("unread", "black"))
	w.Create(reader("one"))
	w.Create(reader("two"))
	w.Has(configs, "one-copy", color("blue"))
	w.Patch(readers, "one", `{"spec":{"settings":"red"}}`)
	w.Has(configs, "one-copy", color("red"))
	w.Patch(readers, "two", `{"spec":{"settings":"red"}}`)
	w.Has(configs, "two-copy", color("red"))
	w.Is(readers, "one", "Ready", "True")
	w.Is(readers, "two", "Ready", "True")

	w.looksNoMore(metrics)
	before := w.looks(metrics)
	w.Patch(configs, "unread", `{"data":{"color":"white"}}`)
	w.Patch(configs, "blue", `{"data":{"color":"navy"}}`)
	w.Delete(configs, "unread")
	w.Create(settings("new", "green"))
	w.Rest(soon)
	if after := w.looks(metrics); after != before {
		t.Errorf("%v reconciliations became %v, though no rule reads what changed", before, after)
	}
	w.Patch(configs, "red", `{"data":{"color":"pink"}}`)
	w.follows(configs, "one-copy", color("pink"))
	w.follows(configs, "two-copy", color("pink"))
}

// looks returns the number of reconciliations of all primaries.
func (w *world) looks(metrics prometheus.Gatherer) (n float64) {
	w.Helper()
	families, err := metrics.Gather()
	if err != nil {
		w.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "reconcel_reconciles_total" {
			for _, m := range f.GetMetric() {
				n += m.GetCounter().GetValue()
			}
		}
	}
	return n
}

// looksNoMore waits until the engine has reconciled nothing for two seconds.
func (w *world) looksNoMore(metrics prometheus.Gatherer) {
	w.Helper()
	last, since := w.looks(metrics), time.Now()
	w.Eventually("the engine to look at nothing any more", func() error {
		if now := w.looks(metrics); now != last {
			last, since = now, time.Now()
		}
		if time.Since(since) < 2*time.Second {
			return fmt.Errorf("the last look is not 2 s ago")
		}
		return nil
	})
}

func pod(name, app string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata: {name: %s, labels: {app: %s}}\nspec: {containers: [{name: c, image: busybox}]}\n", name, app)
}

func TestLookupBySelector(t *testing.T) {
	w := newWorldAlone(t)
	w.CRD(widgetCRD)
	names := `  children:
  - id: found
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${self.metadata.name}-found"}
      data: {names: "${pods.map(p, p.metadata.name).join(' ')}"}
`
	pods := "  - id: pods\n    apiVersion: v1\n    kind: Pod\n    selector: ${self.spec.selector}\n"
	in := w.run(lookupRules(pods, names))
	list := func(names string) map[string]any { return map[string]any{"data.names": names} }
	w.Create(widget("one", "selector: {matchLabels: {app: web}}"))
	w.Create(widget("many", "selector: {matchExpressions: [{key: app, operator: Exists}]}"))
	w.follows(configs, "one-found", list(""))
	w.Is(widgets, "one", "Ready", "True")

	w.Create(pod("b", "web"))
	w.Create(pod("a", "web"))
	w.Create(pod("c", "api"))
	w.follows(configs, "one-found", list("a b"))
	w.follows(configs, "many-found", list("a b c"))
	w.Patch(podKind, "c", `{"metadata":{"labels":{"app":"web"}}}`)
	w.follows(configs, "one-found", list("a b c"))
	w.Patch(podKind, "a", `{"metadata":{"labels":{"app":"api"}}}`)
	w.follows(configs, "one-found", list("b c"))
	w.Patch(podKind, "b", `{"metadata":{"labels":{"app":null}}}`)
	w.follows(configs, "one-found", list("c"))
	w.follows(configs, "many-found", list("a c"))
	w.Patch(widgets, "one", `{"spec":{"selector":{"matchLabels":{"app":"api"}}}}`)
	w.follows(configs, "one-found", list("a"))

	w.settles()
	in.stop()
	since := time.Now()
	w.run(lookupRules(pods, names))
	w.Quiet(3 * time.Second)
	if found := w.Writes(since); len(found) > 0 {
		t.Errorf("%d writes after the restart: %v", len(found), devcluster.Tally(found))
	}
	var atOnce int64
	if err := w.Resource(podKind).Delete(w.Context(), "a", metav1.DeleteOptions{GracePeriodSeconds: &atOnce}); err != nil {
		t.Fatal(err)
	}
	w.follows(configs, "one-found", list(""))
}

func TestLookupInAnotherNamespace(t *testing.T) {
	w, other := newWorldAlone(t), newWorldAlone(t)
	w.CRD(widgetCRD)
	elsewhere := settingsLookup + "    namespace: ${self.spec.from}\n"
	other.Create(settings("blue", "blue"))
	w.Create(widget("one", "settings: blue, from: "+other.Namespace))

	in := w.run(lookupRules(elsewhere, copyOfSettings))
	w.says(widgets, "one", "Stalled", "True", "allow.read.namespaces does not include it")
	w.settles()
	if w.Get(configs, "one-copy") != nil {
		t.Error("it was read without leave")
	}
	in.stop()

	w.run(lookupRules(elsewhere, copyOfSettings+"  allow: {read: {namespaces: [\""+other.Namespace+"\"]}}\n"))
	w.Has(configs, "one-copy", color("blue"))
	w.Is(widgets, "one", "Ready", "True")
	other.Patch(configs, "blue", `{"data":{"color":"navy"}}`)
	w.follows(configs, "one-copy", color("navy"))
	other.Delete(configs, "blue")
	w.says(widgets, "one", "Ready", "False", "waits for ConfigMap/"+other.Namespace+"/blue")
}

func TestLookupEverywhere(t *testing.T) {
	w, other := newWorldAlone(t), newWorldAlone(t)
	w.CRD(widgetCRD)
	all := fmt.Sprintf("  - id: all\n    apiVersion: v1\n    kind: ConfigMap\n    namespace: \"\"\n    selector: {matchLabels: {test: %s}}\n", w.Namespace)
	w.run(lookupRules(all, "  status: {size: \"${size(all)}\"}\n  allow: {read: {namespaces: [\"*\"]}}\n"))
	w.Create(widget("one", "x: y"))
	w.Has(widgets, "one", map[string]any{"status.size": 0})
	labelled := strings.Replace(settings("blue", "blue"), "{name: blue}", "{name: blue, labels: {test: "+w.Namespace+"}}", 1)
	other.Create(labelled)
	w.follows(widgets, "one", map[string]any{"status.size": 1})
	w.Create(labelled)
	w.follows(widgets, "one", map[string]any{"status.size": 2})
	other.Delete(configs, "blue")
	w.follows(widgets, "one", map[string]any{"status.size": 1})
}

func TestLookupOfClusterScopedKind(t *testing.T) {
	w, other := newWorldAlone(t), newWorldAlone(t)
	w.CRD(widgetCRD)
	spaces := fmt.Sprintf("  - id: spaces\n    apiVersion: v1\n    kind: Namespace\n    selector: {matchLabels: {team: %s}}\n"+
		"  - id: home\n    apiVersion: v1\n    kind: Namespace\n    name: ${self.metadata.namespace}\n", w.Namespace)
	w.run(lookupRules(spaces, "  status: {names: \"${spaces.map(s, s.metadata.name)}\", purpose: \"${home.metadata.labels.?purpose.orValue('none')}\"}\n"))
	w.Create(widget("one", "x: y"))
	w.Has(widgets, "one", map[string]any{"status.names": "[]", "status.purpose": "none"})
	label := `{"metadata":{"labels":{"team":"` + w.Namespace + `"}}}`
	w.Patch(namespaces, other.Namespace, label)
	w.follows(widgets, "one", map[string]any{"status.names": "[" + other.Namespace + "]"})
	w.Patch(namespaces, w.Namespace, `{"metadata":{"labels":{"purpose":"test"}}}`)
	w.follows(widgets, "one", map[string]any{"status.purpose": "test"})
	w.Patch(namespaces, other.Namespace, `{"metadata":{"labels":{"team":null}}}`)
	w.follows(widgets, "one", map[string]any{"status.names": "[]"})
	w.Is(widgets, "one", "Ready", "True")
}

// TestLookupOfKindThatComesLater has one rule wait for a kind that it reads, while
// another rule works. The first rule's earlier conditions stay.
func TestLookupOfKindThatComesLater(t *testing.T) {
	w := newWorldAlone(t)
	w.CRD(widgetCRD)
	w.Cleanup(func() {
		_ = w.Client.Resource(crdResource).Delete(context.Background(), "tardys.test.reconcel.dev", deleteNow)
	})
	late := "  - id: late\n    apiVersion: test.reconcel.dev/v1\n    kind: Tardy\n    selector: {}\n"
	w.run(lookupRules(late, "  validate: [{expression: size(late) < 2, message: too many}]\n  status: {size: \"${size(late)}\"}\n  children:\n"+configMapChild("a", "${self.metadata.name}-a")) +
		strings.Replace(widgetRules("", configMapChild("b", "${self.metadata.name}-b")), "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n- name: widget", "- name: second", 1))
	w.Create(widget("one", "value: x"))
	w.Patch(widgets, "one", `{"status":{"size":7}}`, "status")
	w.Has(configs, "one-b", map[string]any{"data.value": "x"})
	w.says(widgets, "one", "Ready", "False", w.Fill(`rule "widget-NAMESPACE": waits for kind Tardy`))
	w.Has(widgets, "one", map[string]any{"status.size": 7})
	if w.Get(configs, "one-a") != nil {
		t.Error("the rule did not wait")
	}

	w.CRD(kindLike("Tardy"))
	w.Has(configs, "one-a", map[string]any{"data.value": "x"})
	w.Has(widgets, "one", map[string]any{"status.size": 0})
	w.Is(widgets, "one", "Ready", "True")
	tardy := strings.Replace(widget("first", "x: y"), "kind: Widget", "kind: Tardy", 1)
	w.Create(tardy)
	w.follows(widgets, "one", map[string]any{"status.size": 1})
	w.Create(strings.Replace(tardy, "first", "second", 1))
	w.says(widgets, "one", "Stalled", "True", "too many")
	w.Delete(e2e.GVK("test.reconcel.dev/v1", "Tardy"), "first")
	w.Is(widgets, "one", "Ready", "True")
}
