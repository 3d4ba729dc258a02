package admit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/engine/access"
	"reconcel/engine/ident"
	"reconcel/engine/inventory"
	"reconcel/engine/outcome"
	"reconcel/engine/plan"
)

// Rollouts continue the rollouts of a plan, and look for approvals.
type Rollouts struct {
	*access.Shared
	Cluster *access.Cluster
}

// pendingInterval is how often a process looks for approvals and continues its rollouts.
const pendingInterval = time.Second

// DecidePending continues the rollouts of a plan, and reports whether its program must be
// loaded again: a user has approved a change, a rollout is complete, or it is time to count again.
func (r *Rollouts) DecidePending(ctx context.Context, pl *plan.Plan) (again bool, err error) {
	if !pl.Pending() {
		return false, nil
	}
	was, err := r.Inventory.Recorded(ctx)
	if err != nil || len(was.Entries) == 0 {
		return false, err // Without entries, the ConfigMap was deleted. The controller restores it.
	}
	again = !pl.CountAgain.IsZero() && !r.Clock.Now().Before(pl.CountAgain)
	for of, h := range pl.Holds {
		now := was.Entries[inventory.Key{Rule: of.Name, Kind: of.Kind.String()}]
		again = again || was.Approved(h.Hash) || now.Digest != h.Since // For a dry run, the controller decides.
	}
	for _, kind := range slices.SortedFunc(maps.Keys(pl.Rollouts),
		func(a, b schema.GroupKind) int { return cmp.Compare(a.String(), b.String()) }) {
		done, failed := r.continueRollout(ctx, pl.Primaries[kind], was.Rollouts[kind.String()])
		again, err = again || done, errors.Join(err, failed)
	}
	return again, err
}

// continueRollout takes the next step of a rollout, and reports whether the program must be
// loaded again: the rollout is complete, or now is another state in the inventory, which a user
// or, for a dry run, the controller has set.
func (r *Rollouts) continueRollout(ctx context.Context, pk *plan.PrimaryKind,
	now inventory.Rollout) (again bool, err error) {
	ro := pk.Rollout
	is := ro.State()
	if now != is || r.DryRun != nil || is.State != inventory.Progressing {
		return now != is || is.State == inventory.Complete, nil // A reload that failed is tried again.
	}
	next := ro.Next(pk)
	if next.State == is.State && next.Reached == is.Reached {
		return false, nil
	}
	err = r.Inventory.EditRollouts(ctx, func(all map[string]inventory.Rollout) error {
		if stored, known := all[pk.KindText()]; known && stored != is {
			return errRolloutChanged
		}
		all[pk.KindText()] = next
		return nil
	})
	if errors.Is(err, errRolloutChanged) {
		return false, nil // The next step begins with what the user wants.
	}
	if err != nil {
		return false, err
	}
	r.logRollout(pk, next)
	r.setRollout(pk, next)
	return next.State == inventory.Complete, nil
}

var errRolloutChanged = errors.New("the rollout has changed")

// setRollout changes the state of a rollout, and enqueues the primaries whose version changes.
func (r *Rollouts) setRollout(pk *plan.PrimaryKind, next inventory.Rollout) {
	ro := pk.Rollout
	ro.Mu.Lock()
	before := ro.Progress.Reached
	ro.Progress = next
	ro.Mu.Unlock()
	cache, err := pk.Watch.Cache()
	if err != nil || before == next.Reached {
		return
	}
	for o := range cache.All() {
		req := ident.RequestFor(ro.Kind, o)
		if at := ro.PositionOf(req.UID, o); (at < before) != (at < next.Reached) {
			ro.Forget(req)
			r.Queue.Add(req)
		}
	}
}

func (r *Rollouts) logRollout(pk *plan.PrimaryKind, is inventory.Rollout) {
	if is.Message == "" {
		r.Log.Info("rollout continues", "kind", pk.KindText(), "state", string(is.State), "updated", is.Updated,
			"resources", is.Resources)
		return
	}
	r.Log.Warn("rollout stopped", "kind", pk.KindText(), "state", string(is.State), "message", is.Message)
	r.Cluster.ReportRules(outcome.ReasonRolloutStopped, "Rollout",
		fmt.Sprintf("rollout of %s: %s: %s", pk.KindText(), is.State, is.Message))
}

// WatchPending looks for approvals and continues rollouts until ctx ends.
func (r *Rollouts) WatchPending(ctx context.Context, pl *plan.Plan) {
	var decided, reloaded outcome.Problem
	for ctx.Err() == nil {
		again, err := r.DecidePending(ctx, pl)
		if ctx.Err() == nil && decided.IsNews(err) {
			r.Log.Warn("background task failed, will retry", "task", "held rules", "error", err)
		}
		if again {
			err = r.reload(ctx, pl)
			if ctx.Err() == nil && reloaded.IsNews(err) {
				r.Log.Warn("background task failed, will retry", "task", "reload of held rules", "error", err)
			}
		}
		pause := pendingInterval
		if left := pl.CountAgain.Sub(r.Clock.Now()); left > 0 {
			pause = min(pause, left)
		}
		outcome.Sleep(ctx, pause)
	}
}

// reload loads the program of a plan again, which ends ctx if it succeeds.
func (r *Rollouts) reload(ctx context.Context, pl *plan.Plan) error {
	again := access.Reload{Program: pl.Loaded, Done: make(chan error, 1)}
	select {
	case r.Reloads <- again:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-again.Done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
