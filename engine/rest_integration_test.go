//go:build integration

package engine_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"reconcel/engine/access"
	"reconcel/test/devcluster"
)

// applies returns how often the engine has applied objects of a resource since an
// instant.
func (w *world) applies(since time.Time, resource string) (n int) {
	w.Helper()
	w.FlushAudit()
	found, err := w.Cluster.Requests(func(r devcluster.Request) bool {
		return r.User == "reconcel" && r.Verb == "patch" && r.Resource == resource && r.Subresource == "" && r.Namespace == w.Namespace && !r.Received.Before(since)
	})
	if err != nil {
		w.Fatal(err)
	}
	return len(found)
}

func TestRejectedBodyIsNotSentAgain(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	w.run(widgetRules("", strings.Replace(serviceChild, "port: 80", "port: 80000", 1)))
	since := time.Now()
	w.Create(widget("one", "value: x"))
	w.Is(widgets, "one", "Stalled", "True")
	w.told("Widget", "one", "Rejected")
	for i := range 20 {
		w.Patch(widgets, "one", fmt.Sprintf(`{"metadata":{"labels":{"nudge":"%d"}}}`, i))
	}
	w.settles()
	// A rejected body may be sent again after three quarters of the retry interval,
	// which pass on a busy machine.
	most := 1 + int(time.Since(since)/(20*time.Second))
	if n := w.applies(since, "services"); n < 1 || n > most {
		t.Errorf("it was sent %d times in %v, want 1 to %d", n, time.Since(since), most)
	}
}

func TestWrappedBase64Converges(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	w.run(widgetRules("", "  - id: secret\n    template: {apiVersion: v1, kind: Secret, metadata: {name: wrapped}, data: {k: \"aGVs\\nbG8=\"}}\n"))
	w.Create(widget("one", "value: x"))
	w.Is(widgets, "one", "Ready", "True")
	w.settles()
	since := time.Now()
	for i := range 5 {
		w.Patch(widgets, "one", fmt.Sprintf(`{"metadata":{"labels":{"nudge":"%d"}}}`, i))
	}
	w.Rest(time.Second)
	if n := w.applies(since, "secrets"); n != 0 {
		t.Errorf("it was applied %d times at rest", n)
	}
}

// TestPrimariesThatAreChildren has a rule for the children of another rule. Its selector
// equals the one that the engine uses to watch children.
func TestPrimariesThatAreChildren(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	second := `- name: second-NAMESPACE
  for:
    apiVersion: v1
    kind: ConfigMap
    namespaces: [NAMESPACE]
    selector: {matchExpressions: [{key: reconcel.dev/rule, operator: Exists}]}
  children:
` + serviceChild
	w.run(widgetRules("", configMapChild("a", "${self.metadata.name}-a")) + second)
	w.Create(widget("one", "value: x"))
	w.Has(configs, "one-a", map[string]any{"data.value": "x"})
	w.Has(services, "one-a", nil)
	w.Patch(configs, "one-a", `{"data":{"value":"edited"}}`)
	w.Has(configs, "one-a", map[string]any{"data.value": "x"})
	w.Delete(services, "one-a")
	w.Has(services, "one-a", nil)
	w.Is(widgets, "one", "Ready", "True")
	w.settles()
}

func TestEverythingIsReappliedPeriodically(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	w.runWith(access.Options{ReapplyEvery: 2 * time.Second}, widgetRules("", configMapChild("a", "${self.metadata.name}-a")))
	w.Create(widget("one", "value: x"))
	w.Is(widgets, "one", "Ready", "True")
	before := w.Get(configs, "one-a").GetResourceVersion()
	since := time.Now()
	w.Eventually("two more applies", func() error {
		if n := w.applies(since, "configmaps"); n < 2 {
			return fmt.Errorf("%d so far", n)
		}
		return nil
	})
	if after := w.Get(configs, "one-a").GetResourceVersion(); after != before {
		t.Errorf("resource version %s became %s", before, after)
	}
}

// TestOneHeldNameDoesNotHideAnother has a child whose name is taken, beside one that can
// never be applied.
func TestOneHeldNameDoesNotHideAnother(t *testing.T) {
	w := newWorldAlone(t)
	w.CRD(widgetCRD)
	role := "  - id: role\n    template: {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: never}, rules: []}\n"
	w.run(widgetRules("", configMapChild("a", "${self.metadata.name}-a"), role))
	w.Create("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one-a}\ndata: {mine: \"yes\"}\n")
	w.Create(widget("one", "value: x"))
	w.told("Widget", "one", "ErrResourceExists")
	w.Delete(configs, "one-a")
	if took := w.Has(configs, "one-a", map[string]any{"data.value": "x"}); took > 10*time.Second {
		t.Errorf("healed after %s", took)
	}
}

// changes is another writer that changes an object 50 times a second.
func (w *world) changes(change func(i int), d time.Duration) {
	w.Helper()
	for since, i := time.Now(), 0; time.Since(since) < d; i++ {
		change(i)
		w.Rest(20 * time.Millisecond)
	}
}

// fights goes on to change an object until the engine reports the other writer. On a
// busy machine, there are few repairs, and some conflict with a change and do not count.
func (w *world) fights(widget string, change func(i int)) {
	w.Helper()
	changes := 0
	w.Eventually("an Event Contested about Widget "+widget, func() error {
		if slices.Contains(w.EventReasons("Widget", widget), "Contested") {
			return nil
		}
		changes++
		change(changes)
		return fmt.Errorf("none after %d changes", changes)
	})
}

// testConflictLoopIsSlowedDown has another client change a child as soon as it is repaired.
func testConflictLoopIsSlowedDown(t *testing.T) {
	w := newWorldAlone(t)
	w.CRD(widgetCRD)
	w.run(widgetRules("", configMapChild("a", "${self.metadata.name}-a")))
	w.Create(widget("one", "value: x"))
	w.Is(widgets, "one", "Ready", "True")
	change := func(i int) { w.Patch(configs, "one-a", fmt.Sprintf(`{"data":{"value":"%d"}}`, i)) }
	since := time.Now()
	w.changes(change, 5*time.Second)
	repairs := slices.DeleteFunc(w.Writes(since), func(r devcluster.Request) bool {
		return r.Resource != "configmaps" || r.Code != http.StatusOK // Some repairs came late and conflicted with the next change.
	})
	if n := len(repairs); n < 2 || n > 11 {
		t.Errorf("%d repairs in 5 s", n)
	}
	w.fights("one", change)
	w.Has(configs, "one-a", map[string]any{"data.value": "x"})
	w.Is(widgets, "one", "Ready", "True")
}
