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

	"reconcel/engine"
	"reconcel/internal/devcluster"
)

// lookupRules are rules for Widgets with lookups, and children or whatever
// else a rule has.
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
	podKind    = gvk("v1", "Pod")
	namespaces = gvk("v1", "Namespace")
)

// soon is how long a primary may take to follow what it reads.
const soon = time.Second

// follows waits for an object that is to follow what was looked up.
func (w *world) follows(kind schemaGVK, name string, want map[string]any) {
	w.Helper()
	if took := w.has(kind, name, want); took > soon {
		w.Errorf("%s %s followed after %s", kind.Kind, name, took)
	}
}

// says waits until a condition of a primary has a message with some text.
func (w *world) says(kind schemaGVK, name, conditionType, status, text string) {
	w.Helper()
	w.eventually(fmt.Sprintf("%s %s to be %s=%s and say %q", kind.Kind, name, conditionType, status, text), func() error {
		u := w.get(kind, name)
		if err := condition(u, conditionType, status); err != nil {
			return err
		}
		list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
		for _, c := range list {
			entry := c.(map[string]any)
			if message, _ := entry["message"].(string); entry["type"] == conditionType && !strings.Contains(message, text) && !w.noted(kind.Kind, name, text) {
				return fmt.Errorf("it says %q", message)
			}
		}
		return nil
	})
}

func TestLookupByName(t *testing.T) {
	w := newWorldAlone(t)
	w.crd(widgetCRD)
	in := w.run(lookupRules(settingsLookup, copyOfSettings))
	w.create(widget("one", "settings: blue"))
	w.has(configs, "one-other", nil)
	w.says(widgets, "one", "Ready", "False", "waits for ConfigMap/"+w.namespace+"/blue")
	w.says(widgets, "one", "Reconciling", "True", `child "copy"`)

	w.create(settings("blue", "blue"))
	w.follows(configs, "one-copy", color("blue"))
	w.is(widgets, "one", "Ready", "True")
	w.patch(configs, "blue", `{"data":{"color":"navy"}}`)
	w.follows(configs, "one-copy", color("navy"))

	// Another primary reads it, and then both follow.
	w.create(widget("two", "settings: blue"))
	w.has(configs, "two-copy", color("navy"))
	w.patch(configs, "blue", `{"data":{"color":"sky"}}`)
	w.follows(configs, "one-copy", color("sky"))
	w.follows(configs, "two-copy", color("sky"))

	w.settles()
	in.stop()
	since := time.Now()
	w.run(lookupRules(settingsLookup, copyOfSettings))
	w.quiet(3 * time.Second)
	if found := w.writes(since); len(found) > 0 {
		t.Errorf("%d writes after the restart: %v", len(found), devcluster.Tally(found))
	}

	// What is missing is no reason to take anything away.
	uid := w.get(configs, "one-copy").GetUID()
	w.delete(configs, "blue")
	w.says(widgets, "one", "Ready", "False", "waits for ConfigMap/"+w.namespace+"/blue")
	w.says(widgets, "two", "Ready", "False", "waits for ConfigMap/"+w.namespace+"/blue")
	w.settles()
	if u := w.get(configs, "one-copy"); u == nil || u.GetUID() != uid {
		t.Fatal("the copy was taken away with what it was made from")
	}
	w.has(configs, "one-copy", color("sky"))
	w.create(settings("blue", "teal"))
	w.follows(configs, "one-copy", color("teal"))
	w.is(widgets, "two", "Ready", "True")
}

// TestLookupOfAnotherName has a primary change which object it reads, and
// counts who looks when something changes that nobody reads.
func TestLookupOfAnotherName(t *testing.T) {
	w := newWorldAlone(t)
	w.crd(kindLike("Reader")) // Widgets of tests that are over may still be on their way out.
	readers := gvk("test.reconcel.dev/v1", "Reader")
	reader := func(name string) string {
		return strings.Replace(widget(name, "settings: blue"), "Widget", "Reader", 1)
	}
	metrics := prometheus.NewRegistry()
	w.runWith(engine.Options{Metrics: metrics}, strings.Replace(lookupRules(settingsLookup, copyOfSettings), "Widget", "Reader", 1))
	w.create(settings("blue", "blue"))
	w.create(settings("red", "red"))
	w.create(settings("unread", "black"))
	w.create(reader("one"))
	w.create(reader("two"))
	w.has(configs, "one-copy", color("blue"))
	w.patch(readers, "one", `{"spec":{"settings":"red"}}`)
	w.has(configs, "one-copy", color("red"))
	w.patch(readers, "two", `{"spec":{"settings":"red"}}`)
	w.has(configs, "two-copy", color("red"))
	w.is(readers, "one", "Ready", "True")
	w.is(readers, "two", "Ready", "True")

	w.looksNoMore(metrics)
	before := w.looks(metrics)
	w.patch(configs, "unread", `{"data":{"color":"white"}}`)
	w.patch(configs, "blue", `{"data":{"color":"navy"}}`)
	w.delete(configs, "unread")
	w.create(settings("new", "green"))
	w.rest(soon)
	if after := w.looks(metrics); after != before {
		t.Errorf("%v looks became %v, though nobody reads what changed", before, after)
	}
	w.patch(configs, "red", `{"data":{"color":"pink"}}`)
	w.follows(configs, "one-copy", color("pink"))
	w.follows(configs, "two-copy", color("pink"))
}

// looks returns how many times the engine has looked at any primary.
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

// looksNoMore waits until the engine has not looked at anything for two
// seconds.
func (w *world) looksNoMore(metrics prometheus.Gatherer) {
	w.Helper()
	last, since := w.looks(metrics), time.Now()
	w.eventually("the engine to look at nothing any more", func() error {
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
	w.crd(widgetCRD)
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
	w.create(widget("one", "selector: {matchLabels: {app: web}}"))
	w.create(widget("many", "selector: {matchExpressions: [{key: app, operator: Exists}]}"))
	w.follows(configs, "one-found", list(""))
	w.is(widgets, "one", "Ready", "True")

	w.create(pod("b", "web"))
	w.create(pod("a", "web"))
	w.create(pod("c", "api"))
	w.follows(configs, "one-found", list("a b"))
	w.follows(configs, "many-found", list("a b c"))
	w.patch(podKind, "c", `{"metadata":{"labels":{"app":"web"}}}`)
	w.follows(configs, "one-found", list("a b c"))
	w.patch(podKind, "a", `{"metadata":{"labels":{"app":"api"}}}`)
	w.follows(configs, "one-found", list("b c"))
	w.patch(podKind, "b", `{"metadata":{"labels":{"app":null}}}`)
	w.follows(configs, "one-found", list("c"))
	w.follows(configs, "many-found", list("a c"))
	w.patch(widgets, "one", `{"spec":{"selector":{"matchLabels":{"app":"api"}}}}`)
	w.follows(configs, "one-found", list("a"))

	w.settles()
	in.stop()
	since := time.Now()
	w.run(lookupRules(pods, names))
	w.quiet(3 * time.Second)
	if found := w.writes(since); len(found) > 0 {
		t.Errorf("%d writes after the restart: %v", len(found), devcluster.Tally(found))
	}
	var atOnce int64
	if err := w.resource(podKind).Delete(w.Context(), "a", metav1.DeleteOptions{GracePeriodSeconds: &atOnce}); err != nil {
		t.Fatal(err)
	}
	w.follows(configs, "one-found", list(""))
}

func TestLookupInAnotherNamespace(t *testing.T) {
	w, other := newWorldAlone(t), newWorldAlone(t)
	w.crd(widgetCRD)
	elsewhere := settingsLookup + "    namespace: ${self.spec.from}\n"
	other.create(settings("blue", "blue"))
	w.create(widget("one", "settings: blue, from: "+other.namespace))

	in := w.run(lookupRules(elsewhere, copyOfSettings))
	w.says(widgets, "one", "Stalled", "True", "allow.read.namespaces does not name it")
	w.settles()
	if w.get(configs, "one-copy") != nil {
		t.Error("it was read without leave")
	}
	in.stop()

	w.run(lookupRules(elsewhere, copyOfSettings+"  allow: {read: {namespaces: [\""+other.namespace+"\"]}}\n"))
	w.has(configs, "one-copy", color("blue"))
	w.is(widgets, "one", "Ready", "True")
	other.patch(configs, "blue", `{"data":{"color":"navy"}}`)
	w.follows(configs, "one-copy", color("navy"))
	other.delete(configs, "blue")
	w.says(widgets, "one", "Ready", "False", "waits for ConfigMap/"+other.namespace+"/blue")
}

func TestLookupEverywhere(t *testing.T) {
	w, other := newWorldAlone(t), newWorldAlone(t)
	w.crd(widgetCRD)
	all := fmt.Sprintf("  - id: all\n    apiVersion: v1\n    kind: ConfigMap\n    namespace: \"\"\n    selector: {matchLabels: {test: %s}}\n", w.namespace)
	w.run(lookupRules(all, "  status: {size: \"${size(all)}\"}\n  allow: {read: {namespaces: [\"*\"]}}\n"))
	w.create(widget("one", "x: y"))
	w.has(widgets, "one", map[string]any{"status.size": 0})
	labelled := strings.Replace(settings("blue", "blue"), "{name: blue}", "{name: blue, labels: {test: "+w.namespace+"}}", 1)
	other.create(labelled)
	w.follows(widgets, "one", map[string]any{"status.size": 1})
	w.create(labelled)
	w.follows(widgets, "one", map[string]any{"status.size": 2})
	other.delete(configs, "blue")
	w.follows(widgets, "one", map[string]any{"status.size": 1})
}

func TestLookupOfClusterScopedKind(t *testing.T) {
	w, other := newWorldAlone(t), newWorldAlone(t)
	w.crd(widgetCRD)
	spaces := fmt.Sprintf("  - id: spaces\n    apiVersion: v1\n    kind: Namespace\n    selector: {matchLabels: {team: %s}}\n"+
		"  - id: home\n    apiVersion: v1\n    kind: Namespace\n    name: ${self.metadata.namespace}\n", w.namespace)
	w.run(lookupRules(spaces, "  status: {names: \"${spaces.map(s, s.metadata.name)}\", purpose: \"${home.metadata.labels.?purpose.orValue('none')}\"}\n"))
	w.create(widget("one", "x: y"))
	w.has(widgets, "one", map[string]any{"status.names": "[]", "status.purpose": "none"})
	label := `{"metadata":{"labels":{"team":"` + w.namespace + `"}}}`
	w.patch(namespaces, other.namespace, label)
	w.follows(widgets, "one", map[string]any{"status.names": "[" + other.namespace + "]"})
	w.patch(namespaces, w.namespace, `{"metadata":{"labels":{"purpose":"test"}}}`)
	w.follows(widgets, "one", map[string]any{"status.purpose": "test"})
	w.patch(namespaces, other.namespace, `{"metadata":{"labels":{"team":null}}}`)
	w.follows(widgets, "one", map[string]any{"status.names": "[]"})
	w.is(widgets, "one", "Ready", "True")
}

// TestLookupOfKindThatComesLater has one rule wait for a kind that it reads,
// while another goes on. What the first said before stays said.
func TestLookupOfKindThatComesLater(t *testing.T) {
	w := newWorldAlone(t)
	w.crd(widgetCRD)
	w.Cleanup(func() {
		_ = w.client.Resource(crdResource).Delete(context.Background(), "tardys.test.reconcel.dev", deleteNow)
	})
	late := "  - id: late\n    apiVersion: test.reconcel.dev/v1\n    kind: Tardy\n    selector: {}\n"
	w.run(lookupRules(late, "  validate: [{expression: size(late) < 2, message: too many}]\n  status: {size: \"${size(late)}\"}\n  children:\n"+configMapChild("a", "${self.metadata.name}-a")) +
		strings.Replace(widgetRules("", configMapChild("b", "${self.metadata.name}-b")), "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n- name: widget", "- name: second", 1))
	w.create(widget("one", "value: x"))
	w.patch(widgets, "one", `{"status":{"size":7}}`, "status")
	w.has(configs, "one-b", map[string]any{"data.value": "x"})
	w.says(widgets, "one", "Ready", "False", w.own(`rule "widget-NAMESPACE": waits for kind Tardy`))
	w.has(widgets, "one", map[string]any{"status.size": 7})
	if w.get(configs, "one-a") != nil {
		t.Error("the rule did not wait")
	}

	w.crd(kindLike("Tardy"))
	w.has(configs, "one-a", map[string]any{"data.value": "x"})
	w.has(widgets, "one", map[string]any{"status.size": 0})
	w.is(widgets, "one", "Ready", "True")
	tardy := strings.Replace(widget("first", "x: y"), "kind: Widget", "kind: Tardy", 1)
	w.create(tardy)
	w.follows(widgets, "one", map[string]any{"status.size": 1})
	w.create(strings.Replace(tardy, "first", "second", 1))
	w.says(widgets, "one", "Stalled", "True", "too many")
	w.delete(gvk("test.reconcel.dev/v1", "Tardy"), "first")
	w.is(widgets, "one", "Ready", "True")
}
