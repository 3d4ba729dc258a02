package engine

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/engine/watch"
	"reconcel/rules/source"
)

// An Inspection is the state of an engine, for debugging. It quotes no object.
type Inspection struct {
	Leading bool
	Waits   string // for what; empty while it runs or stands by
	Rules   []RuleInspection
	Watches []WatchInspection
	Waiting int // requests in the queue
	InWork  int // requests in progress
}

// A RuleInspection is the state of one rule.
type RuleInspection struct {
	Name      string
	Pos       source.Pos
	Primary   string         // kind, as group/version/Kind
	Primaries map[string]int // number of primaries by state
	Children  int            // number of rendered children
	Refused   string         // why the rule is inactive; empty if it is active
}

// A WatchInspection is the state of one watch, in one namespace if only some are
// watched.
type WatchInspection struct {
	Kind     string
	Role     string // primary, child or lookup
	Selector string
	watch.State
}

// Inspect returns the current state of the engine. It is safe for concurrent use.
func (e *Engine) Inspect() Inspection {
	i := Inspection{
		Leading: e.working.Load(), Waits: *e.state.Load(),
		Waiting: e.queue.Len(), InWork: int(e.metrics.inWork.Load()),
	}
	pl := e.plan.Load()
	if pl == nil {
		return i
	}
	for _, pk := range pl.primaries {
		for n, r := range pk.Rules {
			i.Rules = append(i.Rules, pk.meters[n].inspect(RuleInspection{
				Name: r.Name, Pos: r.Pos, Primary: formatKind(pk.GVK), Refused: pl.verdict.Load().why(r),
			}))
		}
	}
	for _, w := range pl.watches {
		for _, state := range w.States() {
			i.Watches = append(i.Watches, WatchInspection{Kind: formatKind(w.GVK), Role: w.Role.String(), Selector: w.Selector, State: state})
		}
	}
	slices.SortFunc(i.Rules, func(a, b RuleInspection) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(i.Watches, func(a, b WatchInspection) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Role, b.Role), cmp.Compare(a.Selector, b.Selector),
			cmp.Compare(a.Namespace, b.Namespace))
	})
	return i
}

func (m *meter) inspect(r RuleInspection) RuleInspection {
	r.Children = int(m.children.Load())
	r.Primaries = map[string]int{}
	for s := range states {
		if n := int(m.primaries[s].Load()); n > 0 {
			r.Primaries[s.String()] = n
		}
	}
	return r
}

func formatKind(gvk schema.GroupVersionKind) string {
	return gvk.GroupVersion().String() + "/" + gvk.Kind
}
