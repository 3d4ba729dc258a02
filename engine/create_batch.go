package engine

import (
	"context"
	"errors"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"reconcel/rules"
)

// Objects are created in batches of 1, 2, 4, 8 and so on, until one fails. An
// exceeded quota, for example, then costs a few requests and not one for each
// object. The requests of a batch run in parallel; their answers are handled one
// after another.

func (p *pass) createAll(ctx context.Context, missing []*rules.Desired, t *collection) {
	var failed brake
	var todo []*creation
	for _, d := range missing {
		c, became, err := p.creationOf(ctx, d)
		if c != nil {
			todo = append(todo, c)
			continue
		}
		failed.note(d, became, err)
		t.note(d, became, err)
	}
	// Objects that were rejected before come last, so that they do not block the
	// others forever.
	slices.SortStableFunc(todo, func(a, b *creation) int { return a.w.rejected.rank() - b.w.rejected.rank() })
	for size := 1; len(todo) > 0; size *= 2 {
		var batch []*creation
		for len(todo) > 0 && len(batch) < size {
			c := todo[0]
			todo = todo[1:]
			if failed.stops(c.d) {
				t.note(c.d, skipFor(forOthers), nil)
				continue
			}
			batch = append(batch, c)
		}
		p.send(ctx, batch)
		for _, c := range batch {
			became, err := p.created(ctx, c)
			failed.note(c.d, became, err)
			t.note(c.d, became, err)
		}
	}
}

// creationOf returns the creation of an object, or the step or error that takes its place.
func (p *pass) creationOf(ctx context.Context, d *rules.Desired) (*creation, step, error) {
	k, err := p.writableKind(d)
	if err != nil {
		return nil, step{}, err
	}
	return p.prepareCreation(ctx, k, d, p.memory.child(d.Identity))
}

// send makes the requests of one batch, and returns when all are answered.
func (p *pass) send(ctx context.Context, batch []*creation) {
	var running sync.WaitGroup
	slots := make(chan struct{}, p.engine.inFlight)
	for _, c := range batch {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			c.err = p.sendOne(ctx, c)
		})
	}
	running.Wait()
}

// sendOne turns a panic into an error, as the queue does: nothing else recovers
// panics in this goroutine.
func (p *pass) sendOne(ctx context.Context, c *creation) (err error) {
	defer p.engine.recoverPanic(p.req, &err)
	return p.apply(ctx, c.kind, c.d, c.w, c.body)
}

// A brake stops creations that would most likely fail as earlier ones did.
type brake struct {
	all        bool
	namespaces []string
}

// note evaluates the result of one creation. A name conflict says nothing about the
// other objects, and neither does one rejected object of several different ones. A
// missing permission or an exceeded quota affects the whole namespace. A transient
// error, such as an API server that does not answer, affects all objects.
func (b *brake) note(d *rules.Desired, became step, err error) {
	var terminal *terminalError
	var conflict *conflictError
	switch {
	case became.waits == forNamespace:
		b.namespaces = append(b.namespaces, d.Identity.Namespace)
	case err == nil, errors.As(err, &conflict), errors.Is(err, errStale):
	case errors.As(err, &terminal):
		if apierrors.IsForbidden(terminal) || d.Child.HasReplicas() {
			b.namespaces = append(b.namespaces, d.Identity.Namespace)
		}
	default:
		b.all = true
	}
}

func (b *brake) stops(d *rules.Desired) bool {
	return b.all || slices.Contains(b.namespaces, d.Identity.Namespace)
}
