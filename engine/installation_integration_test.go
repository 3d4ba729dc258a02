//go:build integration

package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"reconcel/engine/access"
	"reconcel/engine/leader"
	"reconcel/test/devcluster"
)

// installed returns the options of an installation that holds its Lease.
func installed(name string, more ...func(*access.Options)) access.Options {
	o := access.Options{Name: name, Leadership: &leader.Options{Identity: name + "-1", Lost: func(error) {}}}
	for _, f := range more {
		f(&o)
	}
	return o
}

func takingOver(installation string) func(*access.Options) {
	return func(o *access.Options) { o.TakeOver = []string{installation} }
}

func (w *world) marked(name, installation string) {
	w.Helper()
	w.Eventually("the mark of the installation "+installation, func() error {
		u := w.Get(configs, name)
		if u == nil {
			return errors.New("there is no object")
		}
		if mark := u.GetAnnotations()["reconcel.dev/installation"]; mark != w.Namespace+"/"+installation {
			return fmt.Errorf("it is %q", mark)
		}
		return nil
	})
}

// touched returns the writes of an installation except those of its own objects: its
// Lease, its inventory and Events about them.
func (w *world) touched(since time.Time, name string) (found []devcluster.Request) {
	w.Helper()
	for _, r := range w.Writes(since) {
		if r.Resource != "events" && r.Name != name+"-inventory" && r.Name != name+"-revisions" {
			found = append(found, r)
		}
	}
	return found
}

// TestRuleOfAnotherInstallation starts a second installation with a rule of the same name
// and one of its own. The second installation then takes over from the first.
func TestRuleOfAnotherInstallation(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	// The rule has a finalizer, a status and a patch, which must all stay unchanged.
	theirs := widgetRules("", configMapChild("a", "${self.metadata.name}-a"), configMapChild("old", "${self.metadata.name}-old")) +
		"  teardown: ordered\n  patch: {metadata: {labels: {ours: \"yes\"}}}\n  status: {value: first}\n"
	first := w.runWith(installed("first"), theirs)
	w.Create(widget("one", "value: x"))
	w.Is(widgets, "one", "Ready", "True")
	w.marked("one-a", "first")

	ours := widgetRules("", configMapChild("a", "${self.metadata.name}-changed")) +
		"  status: {value: second}\n" +
		strings.TrimPrefix(strings.Replace(strings.Replace(widgetRules("", configMapChild("b", "${self.metadata.name}-b")), "name: widget", "name: second", 1), "kind: Widget", "kind: Guarded", 1), rulesFile)
	w.CRD(kindLike("Guarded"))
	since := time.Now()
	second := w.runWith(installed("second"), ours)
	w.logs(second, "installation conflict, rule is inactive")
	for _, text := range []string{`2 objects belong to the installation \"NAMESPACE/first\"`, "held by first-1", "stop that installation, or give this rule another name"} {
		w.logs(second, w.Fill(text))
	}
	w.Create(strings.Replace(widget("other", "value: x"), "kind: Widget", "kind: Guarded", 1))
	w.Has(configs, "other-b", nil) // The conflict does not delay another rule.
	w.Patch(widgets, "one", `{"metadata":{"labels":{"changed":"yes"}}}`)
	w.reload(second, ours)
	w.Rest(2 * time.Second)
	w.Has(widgets, "one", map[string]any{"status.value": "first"})
	if w.Get(configs, "one-changed") != nil || w.Get(configs, "one-old") == nil {
		t.Error("the second installation has acted for the rule of the first")
	}
	if n := strings.Count(second.log.String(), "installation conflict"); n != 1 {
		t.Errorf("it was said %d times", n)
	}
	if refused := inspected(second, w.Fill("widget-NAMESPACE")); refused == "" {
		t.Error("the debug answer does not say so")
	}
	for _, r := range w.touched(since, "second") {
		if strings.HasPrefix(r.Name, "one") {
			t.Errorf("written by one of them: %s %s %s", r.Verb, r.Resource, r.Name)
		}
	}

	// Once the first has stopped, the message explains how to take over.
	first.stop()
	w.logs(second, w.Fill("to take its objects over, start with --take-over=NAMESPACE/first"))
	second.stop()
	second = w.runWith(installed("second", takingOver(w.Namespace+"/first")), ours)
	w.Has(configs, "one-changed", nil)
	w.gone(configs, "one-a")
	w.gone(configs, "one-old")
	w.Has(widgets, "one", map[string]any{"status.value": "second"})
	second.stop()

	// The option is needed only once. The first installation is now the one without the
	// objects.
	w.runWith(installed("second"), ours)
	w.Patch(widgets, "one", `{"spec":{"value":"y"}}`)
	w.Has(configs, "one-changed", map[string]any{"data.value": "y"})
	first = w.runWith(installed("first"), theirs)
	w.logs(first, w.Fill(`to the installation \"NAMESPACE/second\"`))
	w.Quiet(time.Second)
}

// inspected returns why an engine does not follow a rule.
func inspected(in *instance, rule string) string {
	for _, r := range in.Inspect().Rules {
		if r.Name == rule {
			return r.Conflict
		}
	}
	return ""
}

// TestTakeOverOfTheLiving expects a takeover to wait until the other installation stops.
func TestTakeOverOfTheLiving(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	source := widgetRules("", configMapChild("a", "${self.metadata.name}-a"))
	first := w.runWith(installed("first"), source)
	w.Create(widget("one", "value: x"))
	w.Is(widgets, "one", "Ready", "True")
	uid := w.Get(configs, "one-a").GetUID()
	second := w.runWith(installed("second", takingOver(w.Namespace+"/first")), source)
	w.logs(second, "held by first-1")
	first.stop()
	w.marked("one-a", "second")
	if w.Get(configs, "one-a").GetUID() != uid {
		t.Error("the object was replaced")
	}
	w.logs(second, "installation conflict resolved")
	w.settles()
	w.Quiet(2 * time.Second)
}

// TestObjectsWithoutMarkAreTaken starts with objects of an older version, which carry no
// installation.
func TestObjectsWithoutMarkAreTaken(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	source := widgetRules("", configMapChild("a", "${self.metadata.name}-a"))
	first := w.runWith(installed("first"), source)
	w.Create(widget("one", "value: x"))
	w.Is(widgets, "one", "Ready", "True")
	first.stop()
	w.Patch(configs, "one-a", `{"metadata":{"annotations":{"reconcel.dev/installation":null}}}`)
	w.Create("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: forged, labels: {reconcel.dev/rule: widget-NAMESPACE}, annotations: {reconcel.dev/installation: else/where, " +
		fmt.Sprintf("reconcel.dev/owner: %s/Widget.test.reconcel.dev/NAMESPACE/one}}\n", w.Get(widgets, "one").GetUID()))
	second := w.runWith(installed("second"), source)
	w.Patch(widgets, "one", `{"spec":{"value":"y"}}`)
	w.Has(configs, "one-a", map[string]any{"data.value": "y"})
	if strings.Contains(second.log.String(), "installation conflict") {
		t.Error("a rule is inactive because of objects without a mark, or with a forged mark")
	}
}
