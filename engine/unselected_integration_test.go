//go:build integration

package engine_test

import (
	"strings"
	"testing"
)

// TestUnselectedNamespaceIsNotRead has two engines with a namespace each. One never reads
// the primaries of the other, which have children and are deleted.
func TestUnselectedNamespaceIsNotRead(t *testing.T) {
	for name, selection := range map[string]string{"a selector": "selector: {matchLabels: {followed: \"yes\"}}", "no selector": ""} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.CRD(widgetCRD)
			other := w.neighbours(1)[0]
			rule := widgetRules(selection, configMapChild("a", "${self.metadata.name}-a"), configMapChild("b", "${self.metadata.name}-b"))
			var seen recorder
			w.wrap = seen.wrap
			w.run(rule)
			other.wrap = nil
			other.run(rule)
			labelled := strings.Replace(widget("one", "value: x"), "{name: one}", "{name: one, labels: {followed: \"yes\"}}", 1)
			for _, here := range []*world{other, w} {
				here.Create(labelled)
				here.Is(widgets, "one", "Ready", "True")
				here.Delete(widgets, "one")
				here.gone(configs, "one-a")
				here.gone(configs, "one-b")
			}
			w.settles()
			if read := seen.matching("/namespaces/" + other.Namespace + "/"); len(read) > 0 {
				t.Errorf("it read %v", read)
			}
		})
	}
}
