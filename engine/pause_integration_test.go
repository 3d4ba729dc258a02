//go:build integration

package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"reconcel/engine/access"
	"reconcel/test/e2e"
)

func TestPaused(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	source := widgetRules("", configMapChild("a", "${self.metadata.name}-a")) + statusOfA + "  patch: {metadata: {labels: {value: \"${self.spec.value}\"}}}\n" +
		finalizeJob("60s", "true")
	all := access.Options{Events: access.EventsAll}
	in := w.runWith(all, source)
	w.Create(widget("one", "value: abcdef"))
	w.Is(widgets, "one", "Ready", "True")
	w.Patch(widgets, "one", `{"metadata":{"annotations":{"reconcel.dev/paused":"true"}}}`)
	w.Is(widgets, "one", "Ready", "Unknown")
	w.saysOf(widgets, "Ready", "Paused", "paused by the annotation reconcel.dev/paused")
	w.told("Widget", "one", "Paused")
	w.Patch(widgets, "one", `{"spec":{"value":"other"}}`)
	w.Delete(configs, "one-a")
	w.Is(widgets, "one", "Ready", "Unknown") // For the new generation.
	w.settles()
	w.Quiet(2 * time.Second)
	w.Has(widgets, "one", map[string]any{"status.value": "abcdef", "metadata.labels.value": "abcdef"})
	if err := e2e.Condition(w.Get(widgets, "one"), "Long", "True"); err != nil {
		t.Error(err)
	}
	if w.Get(configs, "one-a") != nil {
		t.Error("the child was created again")
	}
	in.stop()
	since := time.Now()
	w.runWith(all, source)
	w.Rest(2 * time.Second)
	if found := w.Writes(since); len(found) > 0 {
		t.Errorf("writes after a restart: %v", found)
	}

	w.Patch(widgets, "one", `{"metadata":{"annotations":{"reconcel.dev/paused":null}}}`)
	w.told("Widget", "one", "Resumed")
	w.Has(configs, "one-a", map[string]any{"data.value": "other"})
	w.Has(widgets, "one", map[string]any{"status.value": "other", "metadata.labels.value": "other"})
	w.Is(widgets, "one", "Ready", "True")

	// A primary in deletion is paused, too. First the annotation is misspelt.
	w.Patch(widgets, "one", `{"metadata":{"annotations":{"reconcel.dev/pause":"true"}}}`)
	w.told("Widget", "one", "PauseIgnored")
	w.Is(widgets, "one", "Ready", "True")
	w.Patch(widgets, "one", `{"metadata":{"annotations":{"reconcel.dev/paused":"Yes"}}}`)
	w.Is(widgets, "one", "Ready", "Unknown")
	w.Delete(widgets, "one")
	w.settles()
	w.Has(configs, "one-a", nil)
	if w.Get(jobs, "one-backup") != nil {
		t.Error("finalize began in the pause")
	}
	w.Patch(widgets, "one", `{"metadata":{"annotations":{"reconcel.dev/paused":null}}}`)
	w.Has(jobs, "one-backup", nil)
	w.Patch(jobs, "one-backup", `{"spec":{"suspend":false}}`)
	w.gone(widgets, "one")
}

func TestRequeueAfter(t *testing.T) {
	w := newWorld(t)
	w.CRD(kindLike("Requeued")) // Reconciliations of other tests' Widgets would count.
	registry := prometheus.NewRegistry()
	w.runWith(access.Options{Metrics: registry}, rulesFor("Requeued", "  requeueAfter: 1s\n"))
	w.Create(strings.Replace(widget("one", "value: x"), "Widget", "Requeued", 1))
	w.Is(e2e.GVK("test.reconcel.dev/v1", "Requeued"), "one", "Ready", "True")
	w.settles()
	before, since := w.looks(registry), time.Now()
	w.Eventually("three more looks", func() error {
		if n := w.looks(registry) - before; n < 3 {
			return fmt.Errorf("%v so far", n)
		}
		return nil
	})
	if took := time.Since(since); took < 1500*time.Millisecond {
		t.Errorf("three looks took %s", took)
	}
	if found := w.Writes(since); len(found) > 0 {
		t.Errorf("writes: %v", found)
	}
}
