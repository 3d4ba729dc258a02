package engine

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/engine/access"
	"reconcel/engine/ident"
	"reconcel/engine/inventory"
	"reconcel/engine/outcome"
	"reconcel/engine/plan"
	"reconcel/engine/watch"
	"reconcel/rules"
	"reconcel/rules/source"
)

// counted returns the census of an engine without the values that are 0.
func counted(t *testing.T, e *Engine) map[string]float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(plan.Census{Plan: e.Plan.Load})
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			key := strings.TrimPrefix(family.GetName(), "reconcel_")
			for _, l := range m.GetLabel() {
				key += " " + l.GetValue()
			}
			if value := m.GetGauge().GetValue() + m.GetCounter().GetValue(); value != 0 && family.GetName() != "reconcel_rule_reconcile_seconds_total" {
				all[key] = value
			}
		}
	}
	return all
}

func expectCounted(t *testing.T, e *Engine, when string, want map[string]float64) {
	t.Helper()
	want = maps.Clone(want)
	want["watch_synced Deployment.apps child"], want["watch_objects Deployment.apps child"] = 1, 1
	want["watch_synced Foo.samplecontroller.k8s.io primary"], want["watch_objects Foo.samplecontroller.k8s.io primary"] = 1, 1
	if got := counted(t, e); !maps.Equal(got, want) {
		t.Errorf("%s:\n got %v\nwant %v", when, got, want)
	}
}

// swap makes changed rules of foo the active rules of the engine.
func swap(t *testing.T, e *Engine, change func(string) string) {
	t.Helper()
	src, err := os.ReadFile("../examples/foo/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	program, err := rules.Load([]source.File{{Name: "rules.yaml", Data: []byte(change(string(src)))}})
	if err != nil {
		t.Fatal(err)
	}
	e.Plan.Store(e.Router.Route(plan.NewPlan("", plan.AllActive(program), inventory.Orphaned{}, e.Plan.Load().Watches)))
}

// look reconciles a primary except for its status.
func look(t *testing.T, e *Engine, req ident.Request) {
	t.Helper()
	primary, cache := e.Plan.Load().Primaries[req.Kind], cacheOf(t, e, req)
	self, _ := cache.Get(req.Namespace, req.Name)
	p := passFor(access.Subject{
		Shared: e.Shared, Primary: primary, Cache: cache, Req: req, Self: self,
		Memory: e.Memories.Get(req), Rendering: &rules.Rendering{},
	})
	p.View.Render(p.Clock.Now())
	if o := p.Rules(t.Context()); o.State != outcome.Ready || o.Err != nil {
		t.Fatalf("%+v", o)
	}
}

func TestRulesAreCounted(t *testing.T) {
	e, req := converged(t)
	expectCounted(t, e, "at first", map[string]float64{})
	look(t, e, req)
	look(t, e, req)
	twice := map[string]float64{"rule_reconciles_total foo ready": 2, "rule_primaries foo ready": 1, "rule_children foo": 1}
	expectCounted(t, e, "after two looks", twice)

	same := func(s string) string { return s }
	swap(t, e, same)
	expectCounted(t, e, "after a reload of the same", twice)
	look(t, e, req)
	twice["rule_reconciles_total foo ready"] = 3
	expectCounted(t, e, "after another look", twice)

	e.Memories.Forget(req)
	expectCounted(t, e, "when the primary is gone", map[string]float64{"rule_reconciles_total foo ready": 3})
}

func TestRemovedRulesAreNotCounted(t *testing.T) {
	e, req := converged(t)
	look(t, e, req)
	other := func(s string) string { return strings.Replace(s, "name: foo", "name: zoo", 1) }
	before := func(s string) string {
		return s + "\n- {name: early, for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo}}\n"
	}
	swap(t, e, before)
	if len(e.Plan.Load().Primaries[req.Kind].Meters) != 2 {
		t.Fatal("the second rule is missing")
	}
	look(t, e, req)
	expectCounted(t, e, "with another rule", map[string]float64{
		"rule_reconciles_total foo ready": 2, "rule_primaries foo ready": 1, "rule_children foo": 1,
		"rule_reconciles_total early ready": 1, "rule_primaries early ready": 1,
	})
	swap(t, e, func(s string) string { return s })
	look(t, e, req)
	expectCounted(t, e, "without it", map[string]float64{
		"rule_reconciles_total foo ready": 3, "rule_primaries foo ready": 1, "rule_children foo": 1,
	})
	swap(t, e, before)
	look(t, e, req)
	expectCounted(t, e, "with it once more, from 0 on", map[string]float64{
		"rule_reconciles_total foo ready": 4, "rule_primaries foo ready": 1, "rule_children foo": 1,
		"rule_reconciles_total early ready": 1, "rule_primaries early ready": 1,
	})
	swap(t, e, other)
	expectCounted(t, e, "under another name", map[string]float64{})
}

// TestKindsOfARuleAreCountedTogether adds a kind to a rule, whose counters stay when its
// first kind leaves it.
func TestKindsOfARuleAreCountedTogether(t *testing.T) {
	e, req := converged(t)
	kinds := func(list string) func(string) string {
		return func(s string) string {
			return strings.Replace(s, "  for:\n    apiVersion: samplecontroller.k8s.io/v1alpha1\n    kind: Foo\n", "  for: "+list+"\n", 1)
		}
	}
	swap(t, e, kinds("[{apiVersion: v1, kind: Pod}, {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo}]"))
	look(t, e, req)
	pod := e.Plan.Load().Primaries[schema.GroupKind{Kind: "Pod"}]
	(&plan.Share{}).Set(plan.Share{Of: pod.Meters[0], State: outcome.Stalled, Children: 2})
	expectCounted(t, e, "with two kinds", map[string]float64{
		"rule_reconciles_total foo ready": 1, "rule_primaries foo ready": 1, "rule_primaries foo stalled": 1, "rule_children foo": 3,
	})
	e.say("")
	if i := e.Inspect(); len(i.Rules) != 2 || i.Rules[0].Children != 1 || i.Rules[1].Children != 2 || e.Plan.Load().Rules() != 1 {
		t.Errorf("the rule is shown as %+v", i.Rules)
	}
	swap(t, e, kinds("[{apiVersion: v1, kind: Pod}]"))
	if got := counted(t, e)["rule_reconciles_total foo ready"]; got != 1 {
		t.Errorf("after its first kind has left, the rule has %v reconciliations", got)
	}
}

// TestRemovedRulesOfPausedPrimariesAreNotCounted removes the first of two rules. No count
// stays under its position, even if the primary is paused.
func TestRemovedRulesOfPausedPrimariesAreNotCounted(t *testing.T) {
	e, req := converged(t)
	swap(t, e, func(s string) string {
		return strings.Replace(s, "rules:\n", "rules:\n- {name: early, for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo}}\n", 1)
	})
	look(t, e, req)
	swap(t, e, func(s string) string { return s })
	annotate(t, e, req, map[string]string{rules.AnnotationPaused: "true"})
	e.Memories.Get(req).Pause = plan.Resting
	if _, err := e.Reconciler.Reconcile(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	expectCounted(t, e, "paused", map[string]float64{
		"rule_reconciles_total foo ready": 1, "rule_reconciles_total foo paused": 1, "rule_primaries foo paused": 1, "rule_children foo": 1,
	})
}

// TestObjectsAreNoSeries expects the number of series not to grow with the number of
// primaries.
func TestObjectsAreNoSeries(t *testing.T) {
	e, req := converged(t)
	look(t, e, req)
	few := len(counted(t, e))
	m := e.Plan.Load().Primaries[req.Kind].Meters[0]
	for i := range 1000 {
		r := req
		r.Name = fmt.Sprint(i)
		e.Memories.Get(r).Share(0).Set(plan.Share{Of: m, State: outcome.Ready, Children: 2})
	}
	all := counted(t, e)
	if len(all) != few || all["rule_primaries foo ready"] != 1001 || all["rule_children foo"] != 2001 {
		t.Errorf("after 1000 more primaries: %v", all)
	}
}

func TestInspect(t *testing.T) {
	e, req := converged(t)
	e.say("")
	look(t, e, req)
	i := e.Inspect()
	if len(i.Rules) != 1 || i.Rules[0].Name != "foo" || !strings.HasPrefix(i.Rules[0].Position, "rules.yaml:") ||
		i.Rules[0].Primary != "samplecontroller.k8s.io/v1alpha1/Foo" || i.Rules[0].Primaries["ready"] != 1 || i.Rules[0].Children != 1 {
		t.Errorf("rules: %+v", i.Rules)
	}
	if len(i.Watches) != 2 || i.Watches[0].Kind != "apps/v1/Deployment" || i.Watches[0].Role != "child" || !i.Watches[0].Synced || i.Watches[0].Objects != 1 {
		t.Errorf("watches: %+v", i.Watches)
	}
	e.Plan.Load().Watches[0] = watch.New(e.Plan.Load().Watches[0].Key, rules.VisibleToRules())
	for _, w := range e.Inspect().Watches {
		if !w.Synced && w.Problem != watch.ErrNotListed.Error() {
			t.Errorf("not synced, and why: %q", w.Problem)
		}
	}
}

// TestWhatIsWrongWithRulesIsInspected expects /readyz and the metrics to tell of changes that do not take effect, and of
// kinds that cannot be watched.
func TestWhatIsWrongWithRulesIsInspected(t *testing.T) {
	e, _ := converged(t)
	e.say("")
	e.Options.Namespace, e.Options.Name = "ns", "shop"
	if i := e.Inspect(); i.Problems != nil {
		t.Errorf("while nothing is wrong: %q", i.Problems)
	}
	pl := e.Plan.Load()
	foo := schema.GroupKind{Group: "samplecontroller.k8s.io", Kind: "Foo"}
	rollout := &plan.Rollout{Kind: foo, Progress: inventory.Rollout{State: inventory.Progressing, Updated: 1, Resources: 2}}
	pl.Rollouts = map[schema.GroupKind]*plan.Rollout{foo: rollout}
	const stopped = "rollout_stopped Foo.samplecontroller.k8s.io"
	if i, n := e.Inspect(), counted(t, e)[stopped]; i.Problems != nil || n != 0 {
		t.Errorf("while a rollout goes on: %q, %v", i.Problems, n)
	}
	rollout.Progress.State, rollout.Progress.Message = inventory.Failed, "Foo/default/a is stalled"
	pl.Holds = map[plan.RuleOf]plan.Hold{{Name: "foo", Kind: foo}: {Message: "it would delete much"}}
	pl.Watches[0] = watch.New(pl.Watches[0].Key, rules.VisibleToRules())
	want := []string{
		"cannot watch " + formatKind(pl.Watches[0].GVK) + ": " + watch.ErrNotListed.Error(),
		"it would delete much",
		"the rollout of Foo.samplecontroller.k8s.io has failed: with the new version, Foo/default/a is stalled; 1 of 2 resources have the new version; to continue: " +
			"reconcel rollout resume Foo.samplecontroller.k8s.io -n ns --name shop; to undo it: reconcel rollout undo Foo.samplecontroller.k8s.io -n ns --name shop",
	}
	if got := e.Inspect().Problems; !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if n := counted(t, e)[stopped]; n != 1 {
		t.Errorf("%s is %v", stopped, n)
	}
}

func BenchmarkCensusOfManyObjects(b *testing.B) {
	e, _ := converged(b)
	for _, w := range e.Plan.Load().Watches {
		if w.Role != watch.Child {
			continue
		}
		c, err := w.Cache()
		if err != nil {
			b.Fatal(err)
		}
		var many []*unstructured.Unstructured
		for o := range c.All() {
			for i := range 100_000 {
				u := stored(o)
				u.SetName(fmt.Sprint(i))
				many = append(many, u)
			}
		}
		show(b, w, c.Kind(), many...)
	}
	b.ReportAllocs()
	for b.Loop() {
		e.Plan.Load().Totals()
	}
}
