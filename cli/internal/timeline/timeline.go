package timeline

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/rules"
	"reconcel/sim"
	"reconcel/sim/world"
)

// Options say what to play. Program and Kinds are required.
type Options struct {
	Program *rules.Program
	Kinds   *sim.Kinds
	// Unreported are the kinds of primaries without status.conditions, besides built-in kinds.
	Unreported []runtimeschema.GroupVersionKind
	Given      []*unstructured.Unstructured // exist at the start, in the order of their creation
	Actions    []Action                     // by time
	// Until is how long to play at least. After the last action, a minute is played.
	Until time.Duration
}

// A Timeline is all that happened.
type Timeline struct {
	Steps        []Step `json:"steps"`
	Milliseconds int64  `json:"end"` // since the start
	// Problem is why it ended early, or "".
	Problem string `json:"problem,omitempty"`
}

const (
	readyAfter = 3 * time.Second // from a change until the object is ready
	quiet      = time.Minute     // played after the last action
	mostSteps  = 1000
	longest    = 366 * 24 * time.Hour
)

// A player plays one timeline.
type player struct {
	Options
	world *world.World
	start time.Time
	ready map[types.UID]int64 // the generation of an object that has become ready
}

// Play plays a timeline. Its error means that the context has ended or the cluster cannot
// start; whatever goes wrong inside of it is its Problem.
func Play(ctx context.Context, options Options) (*Timeline, error) {
	w, err := world.New(world.Options{Program: options.Program, Kinds: options.Kinds})
	if err != nil {
		return nil, err
	}
	p := &player{Options: options, world: w, start: w.Now(), ready: map[types.UID]int64{}}
	problem := p.play(ctx)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t := &Timeline{Steps: []Step{}, Milliseconds: p.now().Milliseconds()}
	if problem != nil {
		t.Problem = problem.Error()
	}
	changes := w.Changes()
	if len(changes) > mostSteps {
		t.Problem = fmt.Sprintf("more than %d changes: the rest is not shown", mostSteps)
		changes = changes[:mostSteps]
	}
	for _, c := range changes {
		t.Steps = append(t.Steps, p.step(c))
	}
	return t, nil
}

func (p *player) play(ctx context.Context) error {
	for _, u := range p.Given {
		if _, err := p.world.Cluster().Put(u); err != nil {
			return fmt.Errorf("%s %s: %w", u.GetKind(), u.GetName(), err)
		}
	}
	if err := p.world.Settle(ctx); err != nil {
		return err
	}
	until := p.Until
	for _, a := range p.Actions {
		if err := p.runTo(ctx, a.at()); err != nil {
			return err
		}
		if err := p.do(ctx, a); err != nil {
			return err
		}
		if err := p.world.Settle(ctx); err != nil {
			return err
		}
		until = max(until, a.at())
	}
	return p.runTo(ctx, min(until, longest)+quiet)
}

// now returns the time since the start.
func (p *player) now() time.Duration { return p.world.Now().Sub(p.start) }

// runTo lets time pass. What is due to become ready on the way does.
func (p *player) runTo(ctx context.Context, then time.Duration) error {
	for {
		next := then
		due := p.unready()
		for _, d := range due {
			next = min(next, d.at)
		}
		if wait := next - p.now(); wait > 0 {
			if err := p.world.Advance(ctx, wait); err != nil {
				return err
			}
		}
		became := false
		for _, d := range due {
			if d.at > p.now() {
				continue
			}
			became = true
			if err := p.markReady(d.object); err != nil {
				return err
			}
		}
		if !became || len(p.world.Changes()) > mostSteps {
			return nil
		}
		if err := p.world.Settle(ctx); err != nil {
			return err
		}
	}
}
