//go:build integration

package engine_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules"
	"reconcel/test/e2e"
)

// allRemoved makes children of every sort: collections, objects in other scopes, an
// orphan, and labels on the primary.
func (w *world) allRemoved(rest string) (source, other string) {
	w.Helper()
	source, other = w.acrossScopes("  onRuleRemoval: delete\n  patch: {metadata: {labels: {ours: \"yes\"}}}\n  status: {value: \"${self.spec.value}\"}\n" + rest)
	more := "  - id: both\n    forEach: [{name: w, in: \"['x', 'y']\"}]\n    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: \"${self.metadata.name}-${w}\"}}\n" +
		"  - id: many\n    replicas: 3\n    template: {apiVersion: v1, kind: Secret, metadata: {generateName: \"${self.metadata.name}-\"}}\n" +
		strings.Replace(configMapChild("stays", "${self.metadata.name}-stays"), "    template", "    onDelete: orphan\n    template", 1)
	return strings.Replace(source, "  children:\n", "  children:\n"+more, 1), other
}

var secretsKind = e2e.GVK("v1", "Secret")

// labelled counts the objects with a rule's label in all namespaces.
func (w *world) labelled(kind schema.GroupVersionKind, rule string) int {
	w.Helper()
	list, err := w.in("").Resource(kind).List(w.Context(), metav1.ListOptions{LabelSelector: rules.LabelRule + "=" + rule})
	if err != nil {
		w.Fatal(err)
	}
	return len(list.Items)
}

// ruleGone waits until no object of allRemoved and no entry of the inventory is left.
func (w *world) ruleGone(rule, other string) {
	w.Helper()
	for _, name := range []string{"one-a", "one-x", "one-y"} {
		w.gone(configs, name)
	}
	w.in(other).gone(configs, "one-far")
	w.gone(globals, w.Namespace+"-one")
	w.Eventually("the Secrets to be gone", func() error {
		if n := w.labelled(secretsKind, rule); n > 0 {
			return fmt.Errorf("there are %d", n)
		}
		return nil
	})
	w.finalizers(widgets, "one")
	w.Eventually("the patch to be taken back", func() error {
		if labels := w.Get(widgets, "one").GetLabels(); labels["ours"] != "" {
			return fmt.Errorf("labels are %v", labels)
		}
		return nil
	})
	w.forgets(rule)
	w.Has(configs, "one-stays", nil)
}

// inventoryOf returns a rule's entry in the inventory, or "".
func (w *world) inventoryOf(rule string) string {
	w.Helper()
	data, _ := w.Get(configs, "reconcel-inventory").Object["data"].(map[string]any)
	text, _ := data[rule].(string)
	return text
}

func (w *world) forgets(rule string) {
	w.Helper()
	w.Eventually("the inventory to forget the rule", func() error {
		if text := w.inventoryOf(rule); text != "" {
			return errors.New("it says " + text)
		}
		return nil
	})
}

// TestRemovedRuleDeletesItsObjects removes a rule while the engine runs and while it does
// not, with and without another rule for the kind. Then it restores the rule.
func TestRemovedRuleDeletesItsObjects(t *testing.T) {
	for _, beside := range []string{"another rule", "no other rule"} {
		for _, when := range []string{"running", "down"} {
			t.Run(beside+", "+when, func(t *testing.T) {
				w := newWorld(t)
				w.CRD(widgetCRD)
				source, other := w.allRemoved("")
				rest := strings.Replace(widgetRules("", configMapChild("b", "${self.metadata.name}-b")), "name: widget", "name: second", 1)
				if beside == "no other rule" {
					rest = strings.Replace(rest, "kind: Widget", "kind: Global", 1)
					rest = strings.Replace(rest, "    namespaces: [NAMESPACE]\n", "    selector: {matchLabels: {none: NAMESPACE}}\n", 1)
					rest = strings.Replace(rest, "metadata: {", "metadata: {namespace: NAMESPACE, ", 1) + "  allow: {namespaces: [NAMESPACE]}\n"
				}
				rule := w.Fill("widget-NAMESPACE")
				in := w.run(source + strings.TrimPrefix(rest, rulesFile))
				w.Create(widget("one", "value: x"))
				w.Is(widgets, "one", "Ready", "True")
				w.in(other).Has(configs, "one-far", nil)
				w.Has(widgets, "one", map[string]any{"metadata.labels.ours": "yes"})
				if n := w.labelled(secretsKind, rule); n != 3 {
					t.Fatalf("there are %d Secrets", n)
				}
				if when == "down" {
					in.stop()
					in = w.run(rest)
				} else {
					w.reload(in, rest)
				}
				w.ruleGone(rule, other)
				if beside == "another rule" {
					w.Has(configs, "one-b", nil)
				} else {
					w.Has(widgets, "one", map[string]any{"status.value": "x"}) // As after deselection.
				}
				w.settles()
				w.Quiet(3 * time.Second)

				w.reload(in, source)
				w.in(other).Has(configs, "one-far", map[string]any{"data.value": "x"})
				w.Has(configs, "one-x", nil)
			})
		}
	}
}

// TestRenamedRuleKeepsItsChildren delays the renamed rule's takeover of its children,
// while the watch lags, too.
func TestRenamedRuleKeepsItsChildren(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	var late atomic.Bool
	open := make(chan struct{})
	w.wrap = func(next http.RoundTripper) http.RoundTripper {
		behind := lagging("configmaps", 3*time.Second)(next)
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if late.Load() && r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, "/configmaps/one-a") {
				<-open
			}
			return behind.RoundTrip(r)
		})
	}
	source := widgetRules("", configMapChild("a", "${self.metadata.name}-a"), configMapChild("b", "${self.metadata.name}-b"), configMapChild("c", "${self.metadata.name}-c")) +
		"  onRuleRemoval: delete\n"
	in := w.run(source)
	for _, name := range []string{"one", "two"} {
		w.Create(widget(name, "value: x"))
		w.Is(widgets, name, "Ready", "True")
	}
	uids := map[string]string{}
	for _, name := range []string{"one-a", "one-b", "two-a", "two-b"} {
		uids[name] = string(w.Get(configs, name).GetUID())
	}
	late.Store(true)
	renamed := strings.Replace(strings.Replace(source, "name: widget-", "name: renamed-", 1), configMapChild("c", "${self.metadata.name}-c"), "", 1)
	w.reload(in, renamed)
	w.gone(configs, "two-c") // Pruning has started.
	w.Rest(5 * time.Second)
	if n := w.labelled(configs, w.Fill("widget-NAMESPACE")); n == 0 {
		t.Error("the rule has taken over what it was kept from")
	}
	close(open)
	for name, uid := range uids {
		w.Has(configs, name, map[string]any{"metadata.uid": uid})
	}
	w.gone(configs, "one-c")
	w.forgets(w.Fill("widget-NAMESPACE"))
	for name, uid := range uids {
		u := w.Get(configs, name)
		if u == nil || string(u.GetUID()) != uid || u.GetLabels()["reconcel.dev/rule"] != w.Fill("renamed-NAMESPACE") {
			t.Errorf("of %s there is %v", name, u)
		}
	}
}

// TestRemovedRuleLeavesWhatIsNotItsOwn puts reconcel's marks on foreign objects.
func TestRemovedRuleLeavesWhatIsNotItsOwn(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	in := w.run(widgetRules("", configMapChild("a", "${self.metadata.name}-a")) + "  onRuleRemoval: delete\n")
	w.Create(widget("one", "value: x"))
	w.Is(widgets, "one", "Ready", "True")
	in.stop()
	uid := w.Get(widgets, "one").GetUID()
	for i, marks := range []string{
		fmt.Sprintf("annotations: {reconcel.dev/owner: %s/Widget.test.reconcel.dev/NAMESPACE/one}", uid),
		fmt.Sprintf("ownerReferences: [{apiVersion: test.reconcel.dev/v1, kind: Widget, name: one, uid: %s, controller: true}]", uid),
		"annotations: {reconcel.dev/applied: x}",
	} {
		w.Create(fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: forged-%d, labels: {reconcel.dev/rule: widget-NAMESPACE, reconcel.dev/child: a}, %s}\n", i, marks))
	}
	in = w.run(strings.Replace(widgetRules("", configMapChild("b", "${self.metadata.name}-b")), "name: widget", "name: second", 1))
	w.gone(configs, "one-a")
	w.forgets(w.Fill("widget-NAMESPACE"))
	for i := range 3 {
		w.Has(configs, fmt.Sprintf("forged-%d", i), nil)
	}
	in.stop()
}

// TestRemovedRuleMayNotDelete forbids the deletion of one kind for a while.
func TestRemovedRuleMayNotDelete(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	var refuse atomic.Bool
	w.wrap = func(next http.RoundTripper) http.RoundTripper {
		refusing := forbidden("/api/v1/secrets")(next)
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if refuse.Load() {
				return refusing.RoundTrip(r)
			}
			return next.RoundTrip(r)
		})
	}
	secret := "  - id: s\n    template: {apiVersion: v1, kind: Secret, metadata: {name: \"${self.metadata.name}-s\"}}\n"
	in := w.run(widgetRules("", configMapChild("a", "${self.metadata.name}-a"), secret) + "  onRuleRemoval: delete\n")
	w.Create(widget("one", "value: x"))
	w.Is(widgets, "one", "Ready", "True")
	refuse.Store(true)
	w.reload(in, strings.Replace(widgetRules("", configMapChild("b", "${self.metadata.name}-b")), "name: widget", "name: second", 1))
	w.gone(configs, "one-a")
	w.Has(configs, "one-b", nil)
	w.Eventually("the log to say what is missing", func() error {
		if !strings.Contains(in.log.String(), "list Secret: ") {
			return errors.New("it does not")
		}
		return nil
	})
	w.Rest(3 * time.Second)
	if n := strings.Count(in.log.String(), "removal of rule incomplete"); n != 1 {
		t.Errorf("it is said %d times", n)
	}
	if w.Get(secretsKind, "one-s") == nil || w.inventoryOf(w.Fill("widget-NAMESPACE")) == "" {
		t.Error("the rule is forgotten, and its Secret was not deleted")
	}
	refuse.Store(false)
	w.gone(secretsKind, "one-s")
	w.forgets(w.Fill("widget-NAMESPACE"))
}

// TestRemovedRulePutBack restores a rule while foreign finalizers hold up the deletion of
// its children.
func TestRemovedRulePutBack(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	source := widgetRules("", configMapChild("a", "${self.metadata.name}-a")) + "  onRuleRemoval: delete\n"
	rest := strings.Replace(widgetRules("", configMapChild("b", "${self.metadata.name}-b")), "name: widget", "name: second", 1)
	in := w.run(source)
	w.Create(widget("one", "value: x"))
	w.Is(widgets, "one", "Ready", "True")
	uid := w.Get(configs, "one-a").GetUID()
	w.Patch(configs, "one-a", `{"metadata":{"finalizers":["example.com/hold"]}}`)
	w.reload(in, rest)
	w.Lacks(configs, "one-a")
	w.reload(in, source)
	w.Patch(configs, "one-a", `{"metadata":{"finalizers":null}}`)
	w.Eventually("the child to be made again", func() error {
		if u := w.Get(configs, "one-a"); u == nil || u.GetUID() == uid {
			return errors.New("it is not there, or is the old one")
		}
		return nil
	})
	w.settles()
	w.Quiet(3 * time.Second)
	if w.inventoryOf(w.Fill("widget-NAMESPACE")) == "" {
		t.Error("the inventory has forgotten the rule")
	}
}
