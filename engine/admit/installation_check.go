package admit

import (
	"context"
	"maps"
	"slices"
	"time"

	"reconcel/engine/outcome"
	"reconcel/engine/plan"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// settle decides which rules of a plan are refused, and records in the inventory
// what the others are about to create. It runs before any write of the plan. The old
// plan, if any, is not judged again once settle succeeds.
func (a *Admission) settle(ctx context.Context, pl, old *plan.Plan) (err error) {
	a.settling.Lock()
	defer a.settling.Unlock()
	if old != nil {
		old.Superseded.Store(true)
		defer func() { old.Superseded.Store(err == nil) }()
	}
	if !a.Cluster.Retained(pl) {
		a.Retain(ctx, pl) // Before the inventory has more to clean up.
	}
	_, err = a.renewAdmission(ctx, pl, nil)
	return err
}

// Retain tells Options.Retain what a plan makes and leaves behind, unless another plan replaces it.
func (a *Admission) Retain(ctx context.Context, pl *plan.Plan) {
	a.retaining.Lock()
	defer a.retaining.Unlock()
	if !pl.Superseded.Load() {
		a.Cluster.Retain(ctx, pl)
	}
}

func (a *Admission) renewAdmission(ctx context.Context, pl *plan.Plan,
	before *plan.AdmissionResult) (*plan.AdmissionResult, error) {
	v := a.Judge(ctx, pl, before)
	if err := a.Inventory.Extend(ctx, pl.Program, pl.Check(v)); err != nil {
		return nil, err
	}
	a.logAdmission(v)
	pl.Admitted.Store(v)
	return v, nil
}

// Judge looks for objects of the plan's rules that other installations have applied.
// It does not refuse a rule that was active before with checked objects: otherwise
// two processes that start at once would stop each other. before is nil before the first write.
func (a *Admission) Judge(ctx context.Context, pl *plan.Plan, before *plan.AdmissionResult) *plan.AdmissionResult {
	v := &plan.AdmissionResult{Refused: map[*rules.Rule]plan.RefusedRule{}, TakenOver: maps.Clone(pl.Orphaned.TakenOver),
		Checked: map[*watch.Watch]plan.Extent{}}
	if v.TakenOver == nil {
		v.TakenOver = map[string][]string{}
	}
	found := a.foreign(pl, v.Checked)
	leaders := map[string]plan.Leadership{}
	for _, pk := range pl.Primaries {
		for _, r := range pk.Rules {
			objects := found[plan.RuleOf{Name: r.Name, Kind: pk.GVK.GroupKind()}]
			for _, other := range slices.Sorted(maps.Keys(objects)) {
				t, known := leaders[other]
				if !known {
					t = a.Cluster.LeadershipOf(ctx, other)
					leaders[other] = t
				}
				if !a.mayTake(v, r, other, t) && (before == nil || before.Refuses(r) || before.Unchecked(pk, r)) {
					v.Refuse(r, other, objects[other], t)
				}
			}
		}
	}
	return v
}

// foreign counts the objects that other installations have applied, by rule and
// installation, and records which caches it has checked.
func (a *Admission) foreign(pl *plan.Plan, checked map[*watch.Watch]plan.Extent) map[plan.RuleOf]map[string]int {
	found := map[plan.RuleOf]map[string]int{}
	for _, w := range pl.Watches {
		l, ok := plan.ExtentOf(w)
		if !ok || w.Role != watch.Child {
			continue
		}
		checked[w] = l
		for o := range l.Cache.All() {
			if !a.Cluster.OfOtherInstallation(o, nil) {
				continue
			}
			owners := o.Owners()
			if len(owners) == 0 || o.Orphan() && !slices.ContainsFunc(owners, pl.ShowsOwner) {
				continue // It is never deleted.
			}
			key := plan.RuleOf{Name: o.Rule(), Kind: owners[0].Kind}
			if found[key] == nil {
				found[key] = map[string]int{}
			}
			found[key][o.Installation()]++
		}
	}
	return found
}

// mayTake reports whether the objects of another installation belong to this one
// now: its Lease is not held, and --take-over named it now or earlier.
func (a *Admission) mayTake(v *plan.AdmissionResult, r *rules.Rule, other string, t plan.Leadership) bool {
	switch {
	case t.State == plan.LeaseHeld:
		return false
	case slices.Contains(v.TakenOver[r.Name], other):
		return true
	case !slices.Contains(a.Options.TakeOver, other):
		return false
	}
	v.TakenOver[r.Name] = append(slices.Clone(v.TakenOver[r.Name]), other)
	a.Log.Info("taking over the objects of another installation", "rule", r.Name, "installation", other)
	return true
}

// logAdmission reports newly refused rules and those that are active again. It repeats
// nothing while nothing changes.
func (a *Admission) logAdmission(v *plan.AdmissionResult) {
	now := map[plan.RuleOf]string{}
	for r, refused := range v.Refused {
		of := plan.RuleOf{Name: r.Name, Kind: r.GVK.GroupKind()}
		now[of] = refused.Key
		if a.reportedRefused[of] == refused.Key {
			continue
		}
		a.Log.Warn("installation conflict, rule is inactive", "rule", r.Name, "kind", r.GVK.GroupKind().String(),
			"message", refused.Message)
		a.Cluster.ReportRules(outcome.ReasonInstallationConflict, "Check", refused.Message)
	}
	for of := range a.reportedRefused {
		if _, still := now[of]; !still {
			a.Log.Info("installation conflict resolved", "rule", of.Name, "kind", of.Kind.String())
		}
	}
	a.reportedRefused = now
}

// Recheck checks the refused rules every recheckEvery, and at once when a cache that a
// rule waits for is listed.
func (a *Admission) Recheck(ctx context.Context, pl *plan.Plan) {
	tick := time.NewTicker(recheckEvery)
	defer tick.Stop()
	var problem outcome.Problem
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if len(pl.Admitted.Load().Refused) == 0 {
				continue
			}
		case <-pl.Unchecked:
		}
		err := a.reconsider(ctx, pl)
		if ctx.Err() == nil && problem.IsNews(err) {
			a.Log.Warn("background task failed, will retry", "task", "installation check", "error", err)
		}
		if err != nil {
			outcome.Sleep(ctx, time.Second)
			pl.AskCheck()
		}
	}
}

// reconsider admits the rules of the active plan again.
func (a *Admission) reconsider(ctx context.Context, pl *plan.Plan) error {
	a.settling.Lock()
	defer a.settling.Unlock()
	if pl.Superseded.Load() {
		return nil
	}
	before := pl.Admitted.Load()
	v, err := a.renewAdmission(ctx, pl, before)
	if err != nil {
		return err
	}
	for _, pk := range pl.Primaries {
		if slices.ContainsFunc(pk.Rules, func(r *rules.Rule) bool {
			return before.Refuses(r) && !v.Refuses(r) || before.Unchecked(pk, r)
		}) {
			a.Router.EnqueueKind(pk)
		}
	}
	return nil
}

// recheckEvery is how often refused rules are checked again.
const recheckEvery = 10 * time.Second
