package reconcile

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"reconcel/engine/access"
	"reconcel/engine/ident"
	"reconcel/engine/outcome"
	"reconcel/engine/plan"
	"reconcel/engine/watch"
)

// Workers take primaries from the queue.
type Workers struct {
	*access.Shared
	Cluster    *access.Cluster
	Reconciler *Reconciler
}

// stopPatience is how long running reconciliations may continue when the engine
// stops.
const stopPatience = 8 * time.Second

// Work runs the workers of the queue until ctx ends and returns when the last
// worker is done. Running reconciliations may finish within stopPatience, so
// that no write is interrupted with an unknown result.
func (w *Workers) Work(ctx context.Context) {
	passes, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	var workers sync.WaitGroup
	for range w.Options.Workers {
		workers.Go(func() {
			for ctx.Err() == nil && w.ServeNext(passes) {
			}
		})
	}
	<-ctx.Done()
	defer time.AfterFunc(stopPatience, cut).Stop()
	w.Queue.ShutDown()
	workers.Wait()
}

// ServeNext reconciles the next primary of the queue. It returns false when the queue has
// ended.
func (w *Workers) ServeNext(ctx context.Context) bool {
	req, stopped := w.Queue.Get()
	if stopped {
		return false
	}
	defer w.Queue.Done(req)
	w.Metrics.InWork.Add(1)
	defer w.Metrics.InWork.Add(-1)
	started := time.Now()
	result, err := w.Serve(ctx, req)
	w.Metrics.Reconciled(req.Kind, err, time.Since(started))
	w.Requeue(ctx, req, result, err)
	return true
}

// Serve reconciles one request and turns a panic into an error, so that one
// object cannot stop the reconciliation of the others.
func (w *Workers) Serve(ctx context.Context, req ident.Request) (result outcome.Result, err error) {
	defer w.Cluster.RecoverPanic(req, &err)
	if w.DryRun != nil {
		return w.Reconciler.reconcileDry(ctx, req)
	}
	return w.Reconciler.Reconcile(ctx, req)
}

// Requeue is the only place that schedules a finished request again.
func (w *Workers) Requeue(ctx context.Context, req ident.Request, result outcome.Result, err error) {
	var postponed *outcome.PostponedError
	switch {
	case err == nil:
		w.Queue.Forget(req)
		if result.RequeueAfter > 0 {
			w.Queue.AddAfter(req, result.RequeueAfter)
		}
	case ctx.Err() != nil || w.Queue.ShuttingDown(): // This process does not retry any more.
	case errors.As(err, &postponed): // An event came during the backoff. It is no failure that counts.
		w.Queue.AddAfter(req, result.RequeueAfter)
	case outcome.IsForbidden(err): // At a fixed interval without backoff: granting a permission sends no event.
		w.logRetry(ctx, slog.LevelWarn, req, err)
		w.Queue.Forget(req)
		w.Queue.AddAfter(req, outcome.Jitter(outcome.ForbiddenRetry, w.Random))
	default:
		w.logRetry(ctx, retryLevel(err), req, err)
		w.Queue.AddRateLimited(req)
		if result.RequeueAfter > 0 {
			w.Queue.AddAfter(req, result.RequeueAfter) // The earlier of the two counts.
		}
	}
}

// logRetry logs an error that is retried. A repetition is for debugging, except from time to time.
func (w *Workers) logRetry(ctx context.Context, level slog.Level, req ident.Request, err error) {
	if !w.Memories.Get(req).Wordings.IsLogged("the log", err.Error(), w.Clock.Now()) {
		level = slog.LevelDebug
	}
	w.Log.Log(ctx, level, "reconcile failed, will retry", "object", req.String(), "attempt",
		w.Queue.NumRequeues(req)+1, "error", err)
}

// retryLevel returns the log level of an error that is retried. A cache that is
// not filled yet, or that has just stopped with its kind or the process, is
// normal.
func retryLevel(err error) slog.Level {
	if errors.Is(err, watch.ErrNotListed) {
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// Enter returns the plan for one reconciliation. The plan keeps its watches
// until Leave is called with the place.
func (e *Reconciler) Enter(req ident.Request) (pl *plan.Plan, place int) {
	for {
		pl = e.Plan.Load()
		place = pl.Enter(req)
		if e.Plan.Load() == pl {
			return pl, place
		}
		pl.Leave(place) // Another plan replaced it in between and may have stopped its watches.
	}
}
