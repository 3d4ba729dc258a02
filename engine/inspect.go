package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/engine/inventory"
	"reconcel/engine/plan"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// An Inspection is the state of an engine, for debugging. It quotes no object. Its
// JSON is documented.
type Inspection struct {
	State string          `json:"state"` // leader, standby, dry run, or what the engine waits for
	Queue QueueInspection `json:"queue"`
	// Problems are what is wrong with the rules: changes that are held or wait, rollouts that do not go on, rules that are
	// inactive, and kinds that cannot be watched.
	Problems []string              `json:"problems,omitempty"`
	Rules    []plan.RuleInspection `json:"rules"`
	Watches  []WatchInspection     `json:"watches"`
}

// Leads is the state of an engine that reconciles and writes.
const Leads = "leader"

// A QueueInspection counts the requests of the queue.
type QueueInspection struct {
	Waiting int `json:"waiting"`
	Running int `json:"running"`
}

// A WatchInspection is the state of one watch, in one namespace if only some are
// watched.
type WatchInspection struct {
	Kind     string `json:"kind"`
	Role     string `json:"role"` // primary, child or lookup
	Selector string `json:"selector,omitempty"`
	watch.State
}

// Inspect returns the current state of the engine. It is safe for concurrent use.
func (e *Engine) Inspect() Inspection {
	i := Inspection{
		State: *e.state.Load(), Queue: QueueInspection{e.Queue.Len(), int(e.Metrics.InWork.Load())},
		Rules: []plan.RuleInspection{}, Watches: []WatchInspection{},
	}
	switch {
	case i.State != "":
	case e.DryRun != nil:
		i.State = "dry run"
	case e.working.Load():
		i.State = Leads
	default:
		i.State = "standby"
	}
	pl := e.Plan.Load()
	if pl == nil {
		return i
	}
	positions := positionsOf(pl.Loaded)
	for _, pk := range pl.Primaries {
		for n, r := range pk.Rules {
			i.Rules = append(i.Rules, pk.Meters[n].Inspect(plan.RuleInspection{
				Name: r.Name, Position: cmp.Or(positions[inventory.KeyOf(r)], r.Pos.String()), Primary: formatKind(pk.GVK),
				Conflict: pl.Admitted.Load().Why(r),
				Held:     pl.Holds[plan.RuleOf{Name: r.Name, Kind: pk.GVK.GroupKind()}].Message,
				Rollout:  pk.RolloutOf(r), Forbidden: pk.Forbidden(r),
			}))
		}
	}
	for _, w := range pl.Watches {
		for _, state := range w.States() {
			i.Watches = append(i.Watches, WatchInspection{Kind: formatKind(w.GVK), Role: w.Role.String(), Selector: w.Selector,
				State: state})
		}
	}
	i.Problems = e.problems(pl)
	slices.SortFunc(i.Rules, func(a, b plan.RuleInspection) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Primary, b.Primary))
	})
	slices.SortFunc(i.Watches, func(a, b WatchInspection) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Role, b.Role), cmp.Compare(a.Selector, b.Selector),
			cmp.Compare(a.Namespace, b.Namespace))
	})
	return i
}

// positionsOf returns where the newest versions of rules are. An older one may run that is not there any more.
func positionsOf(loaded *rules.Program) map[inventory.Key]string {
	all := map[inventory.Key]string{}
	for _, p := range loaded.Primaries() {
		for _, r := range p.Rules {
			all[inventory.KeyOf(r)] = r.Pos.String()
		}
	}
	return all
}

// problems returns what is wrong with the rules of a plan.
func (e *Engine) problems(pl *plan.Plan) (all []string) {
	for _, h := range pl.Holds {
		all = append(all, h.Message)
	}
	own := inventory.Stored{Namespace: e.Options.Namespace, Installation: e.Options.Name}
	for kind, ro := range pl.Rollouts {
		if text := ro.State().Stopped(kind.String(), own.Flags()); text != "" {
			all = append(all, text)
		}
	}
	for _, pk := range pl.Primaries {
		for _, r := range pk.Rules {
			if text := pl.Admitted.Load().Why(r); text != "" {
				all = append(all, text)
			}
		}
	}
	if old := e.retiring.Load(); old != nil {
		if names := old.InProgress(); len(names) > 0 {
			all = append(all, "changed rules wait for reconciliations in progress: "+strings.Join(names, ", "))
		}
	}
	for _, w := range pl.Watches {
		for _, state := range w.States() {
			if state.Problem != "" {
				all = append(all, fmt.Sprintf("cannot watch %s: %s", formatKind(w.GVK), state.Problem))
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func formatKind(gvk schema.GroupVersionKind) string {
	return gvk.GroupVersion().String() + "/" + gvk.Kind
}
