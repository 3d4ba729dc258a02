package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	"reconcel/engine/inventory"
	"reconcel/rules"
)

// pendingInterval is how often a process looks for approvals and continues its rollouts.
const pendingInterval = time.Second

// pending reports whether a plan has rules that do not take effect everywhere yet.
func (pl *plan) pending() bool { return len(pl.holds) > 0 || len(pl.rollouts) > 0 }

// decidePending continues the rollouts of a plan, and reports whether its program must be
// loaded again: a user has approved a change, or a rollout is complete.
func (e *Engine) decidePending(ctx context.Context, pl *plan) (again bool, err error) {
	if !pl.pending() {
		return false, nil
	}
	was, err := e.inventory.Recorded(ctx)
	if err != nil {
		return false, err
	}
	for of, h := range pl.holds {
		now := was.Entries[inventory.Key{Rule: of.name, Kind: of.kind.String()}]
		again = again || was.Approved(h.hash) || now.Digest != h.since // For a dry run, the controller decides.
	}
	for _, kind := range slices.SortedFunc(maps.Keys(pl.rollouts), func(a, b schema.GroupKind) int { return cmp.Compare(a.String(), b.String()) }) {
		done, failed := e.continueRollout(ctx, pl.primaries[kind], was.Rollouts[kind.String()])
		again, err = again || done, errors.Join(err, failed)
	}
	return again, err
}

// continueRollout takes the next step of a rollout, and reports whether the program must be
// loaded again: the rollout is complete, or now is another state in the inventory, which a user
// or, for a dry run, the controller has set.
func (e *Engine) continueRollout(ctx context.Context, pk *primaryKind, now inventory.Rollout) (again bool, err error) {
	ro := pk.rollout
	is := ro.state()
	if now != is || e.dryRun != nil || is.State != inventory.Progressing {
		return now != is, nil
	}
	next := ro.next(pk)
	if next.State == is.State && next.Reached == is.Reached {
		return false, nil
	}
	err = e.inventory.EditRollouts(ctx, func(all map[string]inventory.Rollout) error {
		if stored, known := all[pk.kindText()]; known && stored != is {
			return errRolloutChanged
		}
		all[pk.kindText()] = next
		return nil
	})
	if errors.Is(err, errRolloutChanged) {
		return false, nil // The next step begins with what the user wants.
	}
	if err != nil {
		return false, err
	}
	e.logRollout(pk, next)
	e.setRollout(pk, next)
	return next.State == inventory.Complete, nil
}

var errRolloutChanged = errors.New("the rollout has changed")

func (pk *primaryKind) kindText() string { return pk.GVK.GroupKind().String() }

// next returns the state after the next step of a rollout: the same if it waits.
func (ro *rollout) next(pk *primaryKind) inventory.Rollout {
	ro.mu.Lock()
	defer ro.mu.Unlock()
	is := ro.is
	cache, err := pk.watch.Cache()
	if err != nil {
		return is
	}
	var rest []uint64
	is.Updated, is.Resources = 0, 0
	waits := false
	for o := range cache.All() {
		req := requestFor(ro.kind, o)
		if o.Terminating() || !pk.follows(req.Namespace) {
			continue
		}
		is.Resources++
		at := positionOfPrimary(req.UID)
		if at >= is.Reached {
			rest = append(rest, at)
			continue
		}
		is.Updated++
		switch s, known := ro.states[req]; {
		case known && s == stalled && ro.failure != rules.ContinueOnFailure:
			is.State, is.Message = inventory.Failed, req.String()+" is stalled"
			if ro.failure == rules.RevertOnFailure {
				is.State, is.Reached, is.Updated = inventory.Undone, 0, 0
			}
			return is
		case !known || s != ready && s != paused && s != stalled:
			waits = true
		}
	}
	switch {
	case waits:
	case len(rest) == 0:
		is.State = inventory.Complete
	default:
		slices.Sort(rest)
		n := min(ro.wave(is.Resources), len(rest))
		is.Reached = rest[n-1] + 1
		is.Updated += n
	}
	return is
}

// wave returns how many primaries the next wave reaches: as many as the strictest rule allows.
func (ro *rollout) wave(all int) int {
	least := all
	for i := range ro.limits {
		n, err := intstr.GetScaledValueFromIntOrPercent(&ro.limits[i], all, false)
		if err == nil && n < least {
			least = n
		}
	}
	return max(least, 1)
}

func (ro *rollout) state() inventory.Rollout {
	ro.mu.Lock()
	defer ro.mu.Unlock()
	return ro.is
}

// setRollout changes the state of a rollout, and enqueues the primaries whose version changes.
func (e *Engine) setRollout(pk *primaryKind, next inventory.Rollout) {
	ro := pk.rollout
	ro.mu.Lock()
	before := ro.is.Reached
	ro.is = next
	ro.mu.Unlock()
	cache, err := pk.watch.Cache()
	if err != nil || before == next.Reached {
		return
	}
	for o := range cache.All() {
		req := requestFor(ro.kind, o)
		if at := positionOfPrimary(req.UID); (at < before) != (at < next.Reached) {
			ro.forget(req)
			e.queue.Add(req)
		}
	}
}

// enqueueReached enqueues the primaries that a rollout reaches before or after a reload.
func (e *Engine) enqueueReached(before, now *primaryKind) {
	cache, err := now.watch.Cache()
	if before.next == nil && now.next == nil || err != nil {
		return
	}
	var limit uint64
	for _, pk := range []*primaryKind{before, now} {
		if pk.next != nil {
			limit = max(limit, pk.rollout.state().Reached)
		}
	}
	for o := range cache.All() {
		if req := requestFor(now.GVK.GroupKind(), o); positionOfPrimary(req.UID) < limit {
			e.queue.Add(req)
		}
	}
}

func (ro *rollout) forget(req Request) {
	ro.mu.Lock()
	defer ro.mu.Unlock()
	delete(ro.states, req)
}

func (e *Engine) logRollout(pk *primaryKind, is inventory.Rollout) {
	if is.Message == "" {
		e.log.Info("rollout continues", "kind", pk.kindText(), "state", string(is.State), "updated", is.Updated, "resources", is.Resources)
		return
	}
	e.log.Warn("rollout stopped", "kind", pk.kindText(), "state", string(is.State), "message", is.Message)
	e.reportRules(reasonRolloutStopped, "Rollout", fmt.Sprintf("rollout of %s: %s: %s", pk.kindText(), is.State, is.Message))
}

// watchPending looks for approvals and continues rollouts until ctx ends.
func (e *Engine) watchPending(ctx context.Context, pl *plan) {
	for ctx.Err() == nil {
		again, err := e.decidePending(ctx, pl)
		if err != nil && ctx.Err() == nil {
			e.log.Warn("background task failed, will retry", "task", "held rules", "error", err)
		}
		if again {
			select {
			case e.reloads <- reload{pl.loaded, make(chan error, 1)}: // It ends this task.
			case <-ctx.Done():
			}
		}
		sleep(ctx, pendingInterval)
	}
}
