//go:build integration

package engine_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"reconcel/engine/access"
)

// logs waits until the log of an engine contains a text.
func (w *world) logs(in *instance, text string) {
	w.Helper()
	w.Eventually("the log to say "+text, func() error {
		if !strings.Contains(in.log.String(), text) {
			return errors.New("it does not")
		}
		return nil
	})
}

// TestRuleOfOtherFilesIsNotRemoved starts a process with other files under the namespace
// and name of an earlier process, as in a second terminal.
func TestRuleOfOtherFilesIsNotRemoved(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	source, other := w.acrossScopes("  onRuleRemoval: delete\n")
	rest := strings.Replace(widgetRules("", configMapChild("b", "${self.metadata.name}-b")), "name: widget", "name: second", 1)
	rule := w.Fill("widget-NAMESPACE")
	first := access.Options{Source: "laptop:/first.yaml"}
	in := w.runWith(first, source)
	w.Create(widget("one", "value: x"))
	w.Is(widgets, "one", "Ready", "True")
	w.in(other).Has(configs, "one-far", nil)
	in.stop()

	second := access.Options{Source: "laptop:/second.yaml"}
	in = w.runWith(second, rest)
	w.Has(configs, "one-b", nil)
	w.logs(in, "--confirm-removal="+rule)
	w.Rest(3 * time.Second) // Longer than the grace period and the start before it.
	w.reload(in, rest)
	in.stop()
	if n := strings.Count(in.log.String(), "keeping its objects"); n != 1 {
		t.Errorf("it was said %d times", n)
	}
	if w.in(other).Get(configs, "one-far") == nil || len(w.Get(widgets, "one").GetFinalizers()) != 1 {
		t.Error("the objects or the finalizer of a rule of other files are gone")
	}

	// The first files are accepted when they return.
	in = w.runWith(first, source)
	w.Rest(time.Second)
	in.stop()

	second.ConfirmRemoval = []string{rule}
	w.runWith(second, rest)
	w.in(other).gone(configs, "one-far")
	w.finalizers(widgets, "one")
	w.forgets(rule)
}

// TestRemovalIsAnnounced checks the announcements before objects are deleted, and reloads
// meanwhile.
func TestRemovalIsAnnounced(t *testing.T) {
	const grace = 12 * time.Second
	w := newWorld(t)
	w.CRD(widgetCRD)
	source := widgetRules("", configMapChild("a", "${self.metadata.name}-a"), configMapChild("b", "${self.metadata.name}-b")) + "  onRuleRemoval: delete\n"
	rest := strings.Replace(widgetRules("", configMapChild("c", "${self.metadata.name}-c")), "name: widget", "name: second", 1)
	in := w.runWith(access.Options{RemovalGrace: grace}, source)
	w.Create(widget("one", "value: x"))
	w.Create(widget("two", "value: x"))
	w.Is(widgets, "one", "Ready", "True")
	w.Is(widgets, "two", "Ready", "True")
	w.reload(in, rest)
	w.logs(in, `level=WARN msg="rule removed, deleting its objects"`)
	announced := time.Now()
	w.logs(in, `objects="4 ConfigMap" delay=12s`)
	w.Eventually("an Event about the removal", func() error {
		if !strings.Contains(strings.Join(w.EventReasons("ConfigMap", "reconcel-inventory"), " "), "RuleRemoved") {
			return errors.New("there is none")
		}
		return nil
	})
	w.Rest(8 * time.Second)
	reloaded := time.Now()
	w.reload(in, rest)
	w.gone(configs, "one-a")
	if took := time.Since(announced); took < grace-time.Second {
		t.Errorf("the objects went %s after that was announced", took)
	}
	if took := time.Since(reloaded); took >= grace {
		t.Errorf("the reload began the delay again: the objects went %s after it", took)
	}
	w.gone(configs, "two-b")
	w.forgets(w.Fill("widget-NAMESPACE"))
	if n := strings.Count(in.log.String(), "rule removed, deleting its objects"); n != 1 {
		t.Errorf("it was announced %d times", n)
	}
}
