package admit

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/engine/access"
	"reconcel/engine/inventory"
	"reconcel/engine/plan"
	"reconcel/engine/queue"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// An Admission decides which rules of a plan may write: changes that delete much are held,
// objects of other installations are left alone.
type Admission struct {
	*access.Shared
	Cluster *access.Cluster
	Router  *queue.Router

	settling        sync.Mutex             // held while rules are admitted
	retaining       sync.Mutex             // held while Options.Retain runs
	reportedRefused map[plan.RuleOf]string // reported refused rules, with their key
}

// A starter fills the caches of a plan whose watches do not all run yet.
type starter func(ctx context.Context, pl *plan.Plan, running []*watch.Watch) error

// Admit decides which of the changed rules of a plan take effect, before its first write. It
// settles the plan, or another one that takes its place. old is the active plan, or nil.
func (a *Admission) Admit(ctx context.Context, pl, old *plan.Plan, start starter) (*plan.Plan, error) {
	was, err := a.Inventory.RecordedWithTexts(ctx)
	if err != nil {
		return nil, err
	}
	s, err := a.activate(ctx, was, pl, old)
	if err != nil {
		return nil, err
	}
	if s.Program == pl.Loaded {
		pl.ActiveRules = s
		pl.KeepHeld()
		return pl, a.settle(ctx, pl, old)
	}
	orphaned, err := a.Cluster.Orphaned(ctx, s.Program)
	if err != nil {
		return nil, err
	}
	running := pl.Watches
	if old != nil {
		running = slices.Concat(old.Watches, pl.Watches)
	}
	composed := plan.NewPlan(a.Options.Namespace, s, orphaned, running)
	composed.KeepHeld()
	if err = start(ctx, composed, running); err == nil {
		err = a.settle(ctx, composed, old)
	}
	if err != nil {
		composed.StopOthers(pl, old)
		return nil, err
	}
	return composed, nil
}

// pauseBeforeCount returns how long to wait before what could not be listed is counted again: a second at first,
// then twice as long as before, up to three.
func pauseBeforeCount(old *plan.Plan) time.Duration {
	if old == nil {
		return pendingInterval
	}
	return min(max(2*old.CountPause, pendingInterval), 3*time.Second)
}

// activate returns the versions that the rules of a plan have from now on.
func (a *Admission) activate(ctx context.Context, was *inventory.Recorded,
	pl, old *plan.Plan) (plan.ActiveRules, error) {
	s := plan.AllActive(pl.Loaded)
	changed := plan.ChangesSince(was, pl)
	if len(changed) == 0 {
		return s, nil
	}
	counts, err := a.CountDeletions(ctx, pl, changed)
	if err != nil {
		return s, err
	}
	s.Holds, s.Rollouts = map[plan.RuleOf]plan.Hold{}, map[schema.GroupKind]*plan.Rollout{}
	var earlier []*rules.Rule
	for i := range changed {
		c := &changed[i]
		last := plan.RunningRule(was, old, c)
		excess := a.Excess(was, c, counts[c.Of], last)
		if excess == "" && !c.InWaves() {
			continue
		}
		if excess != "" && Approved(was, pl.Loaded, c, last) {
			s.Used = append(s.Used, c.Hash())
			excess = ""
		}
		switch {
		case excess != "":
			s.Holds[c.Of] = a.Hold(pl.Loaded, c, excess, counts[c.Of], last)
			if counts[c.Of].Unlisted != nil {
				s.CountPause = pauseBeforeCount(old)
				s.CountAgain = a.Clock.Now().Add(s.CountPause)
			}
			if last != nil {
				earlier = append(earlier, last)
			}
		case c.InWaves() && last != nil: // Else no primary could wait for the new version.
			s.AddToRollout(c, last)
		}
	}
	s.Resume(was, a.DryRun)
	if old != nil && old.Loaded == pl.Loaded {
		s.KnowStates(old)
	}
	for _, ro := range s.Rollouts {
		earlier = append(earlier, ro.Earlier...)
	}
	s.Program = pl.Loaded.Compose(earlier...)
	return s, nil
}
