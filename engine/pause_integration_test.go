//go:build integration

package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"reconcel/engine"
)

func TestPaused(t *testing.T) {
	w := newWorld(t)
	w.crd(widgetCRD)
	source := widgetRules("", configMapChild("a", "${self.metadata.name}-a")) + statusOfA + "  patch: {metadata: {labels: {value: \"${self.spec.value}\"}}}\n" +
		finalizeJob("60s", "true")
	in := w.run(source)
	w.create(widget("one", "value: abcdef"))
	w.is(widgets, "one", "Ready", "True")
	w.patch(widgets, "one", `{"metadata":{"annotations":{"reconcel.dev/paused":"true"}}}`)
	w.is(widgets, "one", "Ready", "Unknown")
	w.saysOf(widgets, "Ready", "Paused", "paused by the annotation reconcel.dev/paused")
	w.told("Widget", "one", "Paused")
	w.patch(widgets, "one", `{"spec":{"value":"other"}}`)
	w.delete(configs, "one-a")
	w.is(widgets, "one", "Ready", "Unknown") // Of the new generation.
	w.settles()
	w.quiet(2 * time.Second)
	w.has(widgets, "one", map[string]any{"status.value": "abcdef", "metadata.labels.value": "abcdef"})
	if err := condition(w.get(widgets, "one"), "Long", "True"); err != nil {
		t.Error(err)
	}
	if w.get(configs, "one-a") != nil {
		t.Error("the child was made again")
	}
	in.stop()
	since := time.Now()
	w.run(source)
	w.rest(2 * time.Second)
	if found := w.writes(since); len(found) > 0 {
		t.Errorf("writes after a restart: %v", found)
	}

	w.patch(widgets, "one", `{"metadata":{"annotations":{"reconcel.dev/paused":null}}}`)
	w.told("Widget", "one", "Resumed")
	w.has(configs, "one-a", map[string]any{"data.value": "other"})
	w.has(widgets, "one", map[string]any{"status.value": "other", "metadata.labels.value": "other"})
	w.is(widgets, "one", "Ready", "True")

	// One that is being deleted waits, too. First the annotation is misspelt.
	w.patch(widgets, "one", `{"metadata":{"annotations":{"reconcel.dev/pause":"true"}}}`)
	w.told("Widget", "one", "PauseIgnored")
	w.is(widgets, "one", "Ready", "True")
	w.patch(widgets, "one", `{"metadata":{"annotations":{"reconcel.dev/paused":"Yes"}}}`)
	w.is(widgets, "one", "Ready", "Unknown")
	w.delete(widgets, "one")
	w.settles()
	w.has(configs, "one-a", nil)
	if w.get(jobs, "one-backup") != nil {
		t.Error("finalize began in the pause")
	}
	w.patch(widgets, "one", `{"metadata":{"annotations":{"reconcel.dev/paused":null}}}`)
	w.has(jobs, "one-backup", nil)
	w.patch(jobs, "one-backup", `{"spec":{"suspend":false}}`)
	w.gone(widgets, "one")
}

func TestRequeueAfter(t *testing.T) {
	w := newWorld(t)
	w.crd(kindLike("Requeued")) // Looks at other tests' Widgets would count.
	registry := prometheus.NewRegistry()
	w.runWith(engine.Options{Metrics: registry}, rulesFor("Requeued", "  requeueAfter: 1s\n"))
	w.create(strings.Replace(widget("one", "value: x"), "Widget", "Requeued", 1))
	w.is(gvk("test.reconcel.dev/v1", "Requeued"), "one", "Ready", "True")
	w.settles()
	before, since := w.looks(registry), time.Now()
	w.eventually("three more looks", func() error {
		if n := w.looks(registry) - before; n < 3 {
			return fmt.Errorf("%v so far", n)
		}
		return nil
	})
	if took := time.Since(since); took < 1500*time.Millisecond {
		t.Errorf("three looks took %s", took)
	}
	if found := w.writes(since); len(found) > 0 {
		t.Errorf("writes: %v", found)
	}
}
