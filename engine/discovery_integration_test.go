//go:build integration

package engine_test

import (
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"reconcel/engine"
	"reconcel/internal/faultproxy"
)

// TestGroupMissingWhileRuleIsRemoved hides the group of the primaries and of a child from
// discovery while a rule is removed. Nothing of the rule is forgotten.
func TestGroupMissingWhileRuleIsRemoved(t *testing.T) {
	for _, absence := range []faultproxy.Absence{faultproxy.GroupMissing, faultproxy.GroupEmpty} {
		t.Run(string(absence), func(t *testing.T) {
			w := newWorld(t)
			w.CRD(widgetCRD)
			source, other := w.allRemoved("")
			proxy := faultproxy.Start(t, w.Cluster.Config())
			options := engine.Options{Config: &rest.Config{Host: proxy.URL()}}
			rule := w.Fill("widget-NAMESPACE")
			in := w.runWith(options, source)
			w.Create(widget("one", "value: x"))
			w.Is(widgets, "one", "Ready", "True")
			w.in(other).Has(configs, "one-far", nil)
			lift := proxy.HideGroup("test.reconcel.dev", absence)
			w.reload(in, strings.Replace(rulesFile, "rules:\n", "rules: []\n", 1))
			w.Rest(5 * time.Second)
			if w.inventoryOf(rule) == "" {
				t.Error("the inventory has forgotten the rule")
			}
			lift()
			w.ruleGone(rule, other)
		})
	}
}
