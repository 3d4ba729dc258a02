//go:build integration

package engine_test

import (
	"fmt"
	"strings"
	"testing"
)

func TestFinalizerOfARemovedRule(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	w.CRD(kindLike("Global", "scope: Namespaced", "scope: Cluster"))
	other := strings.Replace(rulesFor("Widget", ""), "name: widget", "name: another", 1)
	other = strings.ReplaceAll(other, "-a\"", "-other\"")
	in := w.run(widgetRules("", configMapChild("a", "${self.metadata.name}-a")) + finalizeJob("60s", "true"))
	w.Create(widget("one", "value: x"))
	w.Is(widgets, "one", "Ready", "True")
	w.finalizers(widgets, "one", w.Fill("reconcel.dev/widget-NAMESPACE"))
	w.Has(configs, "reconcel-inventory", nil)
	if text := fmt.Sprint(w.Get(configs, "reconcel-inventory").Object["data"]); !strings.Contains(text, `"finalizer":true`) {
		t.Errorf("the inventory says %s", text)
	}
	in.stop()

	in = w.run(other)
	w.finalizers(widgets, "one")
	w.Has(configs, "one-a", nil)
	w.Eventually("the inventory to forget the finalizer", func() error {
		if text := fmt.Sprint(w.Get(configs, "reconcel-inventory").Object["data"]); strings.Contains(text, "finalizer") {
			return fmt.Errorf("it says %s", text)
		}
		return nil
	})
	w.settles()
	in.stop()

	// The rule returns, and then selects another kind.
	in = w.run(widgetRules("", configMapChild("a", "${self.metadata.name}-a")) + finalizeJob("60s", "true"))
	w.finalizers(widgets, "one", w.Fill("reconcel.dev/widget-NAMESPACE"))
	in.stop()
	w.run(strings.NewReplacer("kind: Widget", "kind: Global", "    namespaces: [NAMESPACE]\n", "", "{name: \"${self.metadata.name}-a\"}", "{name: a, namespace: NAMESPACE}").
		Replace(widgetRules("when: \"false\"", configMapChild("a", "${self.metadata.name}-a"))) + "  allow: {namespaces: [\"*\"]}\n")
	w.finalizers(widgets, "one")
}
