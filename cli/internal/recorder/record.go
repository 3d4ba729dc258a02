// Package recorder records what a controller sees in a cluster.
//
// It runs a shadow: an engine that writes nothing. One goroutine does everything, one step after
// another, so that a replay (package sim/recording) sees the caches of each reconciliation in exactly the state that they
// had. The values of Secrets are withheld before the engine sees them, so that the engine decides the same in a
// replay.
package recorder

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"k8s.io/client-go/dynamic"

	"reconcel/cli/internal/cluster"
	"reconcel/cli/internal/judge"
	"reconcel/cli/internal/pretend"
	"reconcel/engine"
	"reconcel/engine/shadow"
	"reconcel/rules"
	"reconcel/sim/recording"
	"reconcel/sim/world"
)

// Options say what to record.
type Options struct {
	Rules   *rules.Loaded
	Policy  judge.Policy
	Cluster *cluster.Cluster
	Watches dynamic.Interface // without a timeout
	// Namespace and Name are those of the installation.
	Namespace, Name string
	Log             *slog.Logger
	To              *recording.Writer
}

// A Result counts what was recorded.
type Result struct{ Events, Reconciliations int }

// A latched clock stands still during a step.
type latched struct{ now time.Time }

// Now implements clock.PassiveClock.
func (c *latched) Now() time.Time { return c.now }

// Since implements clock.PassiveClock.
func (c *latched) Since(t time.Time) time.Duration { return c.now.Sub(t) }

// cleanupEvery is how often the cleanup of removed rules is tried.
const cleanupEvery = 30 * time.Second

// Record records until ctx ends.
func Record(ctx context.Context, o Options) (r Result, err error) {
	ledger, schemas := shadow.NewLedger(time.Now()), pretend.NewSchemas()
	judgement := o.Cluster.Judge(ctx, o.Rules, o.Policy)
	if err := judgement.Err(); err != nil {
		return r, err
	}
	if judgement.Kinds != nil {
		schemas.Set(judgement.Kinds)
	}
	secrets := newWithheld()
	feed, err := watchKinds(ctx, o, secrets)
	if err != nil {
		return r, err
	}
	now := &latched{time.Now()}
	queue := world.NewQueue(now)
	stepper := o.To.Start(engine.Dependencies{
		Client: secrets.client(o.Cluster.Client), Kinds: o.Cluster.Kinds, Clock: now, Queue: queue, Random: rand.Float64, InFlight: 1,
	}, engine.Options{
		Log: o.Log, Namespace: o.Namespace, Name: o.Name, Namespaces: o.Policy.Namespaces, Events: engine.EventsWarnings, Shadow: pretend.New(schemas, ledger),
	})
	first := feed.snapshot()
	if judgement.Kinds != nil {
		first.Numbers = judgement.Kinds.NumberFields(o.Rules.Program.UsedKinds())
	}
	o.To.Follow(o.Rules.Sources, first)
	if err := stepper.Follow(ctx, o.Rules.Program, first); err != nil {
		return r, fmt.Errorf("start: %w", err)
	}
	o.Log.Info("recording", "objects", len(first.Objects))
	cleanup := time.NewTicker(cleanupEvery)
	defer cleanup.Stop()
	for ctx.Err() == nil && o.To.Err() == nil {
		now.now = time.Now()
		if e, ok := feed.next(); ok {
			o.To.Event(e.old, e.now, e.version)
			if err := stepper.Observe(e.old, e.now, e.version); err != nil {
				return r, err
			}
			r.Events++
			continue
		}
		if queue.Wake(); stepper.Serve(ctx) {
			r.Reconciliations++
			continue
		}
		select {
		case <-ctx.Done():
		case <-feed.ready:
		case <-due(queue, now.now):
		case <-cleanup.C:
			o.To.CleanUp()
			program, err := stepper.CleanUp(ctx)
			if err == nil && program != nil {
				now := engine.Snapshot{Version: first.Version, Numbers: first.Numbers}
				o.To.Follow(o.Rules.Sources, now)
				err = stepper.Follow(ctx, program, now)
			}
			if err != nil {
				return r, err
			}
		}
	}
	return r, o.To.Err()
}

// due returns a channel that receives when the queue has something to do again.
func due(q *world.Queue, now time.Time) <-chan time.Time {
	at, waits := q.Next()
	if !waits {
		return nil
	}
	return time.After(at.Sub(now))
}
