//go:build integration

package engine_test

import (
	"fmt"
	"testing"
	"time"
)

// TestForgedMarksAreIgnored forges labels and annotations on a tenant's own
// objects. Reconcel must not take a living primary for a deleted one, and must not take
// the tenant's objects for the primary's.
func TestForgedMarksAreIgnored(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	rules := widgetRules("", configMapChild("a", "${self.metadata.name}-a")) + `  finalize:
  - id: end
    timeout: 1m
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${self.metadata.name}-end"}
`
	w.run(rules)
	w.Create(widget("one", "value: x"))
	w.Is(widgets, "one", "Ready", "True")
	uid, child := w.Get(widgets, "one").GetUID(), w.Get(configs, "one-a")
	rule := child.GetLabels()["reconcel.dev/rule"]
	for i, owner := range []string{
		fmt.Sprintf("%s/Widget.test.reconcel.dev/nowhere/nothing", uid),
		fmt.Sprintf("%s/Widget.test.reconcel.dev/%s/nothing", uid, w.Namespace),
		fmt.Sprintf("%s/Widget.test.reconcel.dev/%s/one", uid, w.Namespace),
	} {
		w.Create(fmt.Sprintf(`
apiVersion: v1
kind: ConfigMap
metadata:
  name: forged-%d
  labels: {reconcel.dev/rule: %s, reconcel.dev/child: a}
  annotations: {reconcel.dev/owner: %q}
data: {mine: "yes"}
`, i, rule, owner))
	}
	w.Patch(widgets, "one", `{"spec":{"value":"y"}}`)
	w.Has(configs, "one-a", map[string]any{"data.value": "y"})
	w.Rest(2 * time.Second)
	if now := w.Get(configs, "one-a"); now == nil || now.GetUID() != child.GetUID() {
		t.Errorf("a forged mark has cost the child: %v", now)
	}
	for i := range 3 {
		w.Has(configs, fmt.Sprintf("forged-%d", i), map[string]any{"data.mine": "yes"})
	}
}
