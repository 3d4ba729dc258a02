package write

import (
	"context"
	"errors"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"reconcel/engine/access"
	"reconcel/engine/answer"
	"reconcel/engine/decide"
	"reconcel/engine/ident"
	"reconcel/engine/outcome"
	"reconcel/rules"
)

// A creation is one object to create.
type creation struct {
	kind   ident.Kind
	d      *rules.Desired
	w      *access.Written
	damper decide.Damper // before the creation
	why    string        // trigger of the creation
	body   []byte
	err    error // the API server's answer
}

func (p *ChildWriter) create(ctx context.Context, k ident.Kind, d *rules.Desired,
	w *access.Written) (decide.Step, error) {
	c, became, err := p.prepareCreation(ctx, k, d, w)
	if c == nil {
		return became, err
	}
	c.err = p.Applier.apply(ctx, k, d, w, c.body)
	return p.created(ctx, c)
}

// prepareCreation returns the creation of an object, or the step or error that takes
// its place. The creation is an apply that only creates: with resourceVersion "1" the
// API server answers 409 if the name is taken. So nothing is adopted by accident, and a
// lost response or a stale cache cannot create a second object.
func (p *ChildWriter) prepareCreation(ctx context.Context, k ident.Kind, d *rules.Desired,
	w *access.Written) (*creation, decide.Step, error) {
	if p.Reader.Overtaken() {
		return nil, decide.Step{}, decide.ErrStale // The garbage collector would have to delete the object again.
	}
	if w.Foreign || d.Child.Extends {
		// The name was taken a moment ago and most likely still is, or an object of others is expected: read
		// before writing.
		existing, err := p.Reader.Get(ctx, k, d.Identity)
		if err == nil {
			became, err := p.ensureExisting(ctx, k, d, w, existing)
			return nil, became, err
		}
		if !answer.IsAbsent(err) {
			return nil, decide.Step{}, err
		}
	}
	if err := w.Rejected.Stands(p.Subject, d.Hash, ""); err != nil {
		return nil, decide.Step{}, err
	}
	before := w.Damper
	replacesReplica := d.Child.HasReplicas() && p.Memory.Reconciled // Possibly one of another name.
	if w.Existed() || replacesReplica {
		if err := p.mayCreateAgain(ctx, d, w); err != nil {
			return nil, decide.Step{}, err
		}
	}
	fields, err := d.Ignored()
	if err != nil {
		return nil, decide.Step{}, err
	}
	if d.Child.Generates() {
		made, err := p.Applier.generate(d, nil)
		if err != nil {
			return nil, decide.Step{}, err
		}
		fields = append(fields, made...)
	}
	if d.Child.Shared {
		fields = append(fields, p.Applier.sharesToApply(d, nil)...)
	}
	body, err := d.Complete("", "1", append(fields, p.Applier.requestMark(d)...))
	if err != nil {
		return nil, decide.Step{}, err
	}
	return &creation{kind: k, d: d, w: w, damper: before, why: p.Journal.WhyMissing(w), body: body}, decide.Step{}, nil
}

// mayCreateAgain reads the primary live before an object is created in the place of one
// that existed: the garbage collector may have deleted it because the primary is gone, and
// the cache may show the deletions in another order. It counts the creation as a
// repair, and returns an error if the creation has to wait.
func (p *ChildWriter) mayCreateAgain(ctx context.Context, d *rules.Desired, w *access.Written) error {
	if err := p.Reader.Confirm(ctx); err != nil {
		return err
	}
	wait := w.Damper.Repair(p.Clock.Now())
	w.Damper.Loop.By = outcome.Culprit{Deletes: true}
	if wait > 0 {
		return w.Damper.Loop.Wait(d, wait)
	}
	return nil
}

// created handles the API server's answer to a creation.
func (p *ChildWriter) created(ctx context.Context, c *creation) (decide.Step, error) {
	if _, lost := errors.AsType[*decide.StrippedError](c.err); lost {
		// The policy may apply to creations alone. If it removed the label that the watch selects,
		// no event would follow.
		c.err = p.Applier.write(ctx, c.kind, c.d, c.w, c.w.Object)
	}
	if c.err == nil {
		c.w.Foreign = false
		p.Journal.Did(outcome.Created, c.d, c.why)
		return decide.Step{Action: outcome.Created}, p.Applier.contested(c.d, c.w)
	}
	c.w.Damper = c.damper // Nothing was created that another writer could delete.
	switch {
	case apierrors.IsConflict(c.err) || apierrors.IsAlreadyExists(c.err):
		existing, err := p.Reader.Get(ctx, c.kind, c.d.Identity)
		if err != nil {
			return decide.Step{}, err
		}
		return p.ensureExisting(ctx, c.kind, c.d, c.w, existing)
	case outcome.NamespaceEnds(c.err):
		return decide.SkipFor(decide.ForNamespace), nil
	}
	return decide.Step{}, p.Answers.NoteRejection(&c.w.Rejected, c.d.Hash, versionAfter(c.w, "", c.err),
		outcome.ClassifyAnswer(c.err))
}

// Objects are created in batches of 1, 2, 4, 8 and so on, until one fails. An
// exceeded quota, for example, then costs a few requests and not one for each
// object. The requests of a batch run in parallel; their answers are handled one
// after another.
//
// An object that can never be created must not keep others from it. So whose
// creation has failed takes its turn after those that did not, the oldest attempt
// first, and they share one backoff.

// A turn is the attempt to create one missing object, with its result.
type turn struct {
	d      *rules.Desired
	w      *access.Written
	became decide.Step
	err    error
}

// mostRounds limits in how many rounds of attempts each object whose creation has failed has its turn.
const mostRounds = 25

func (p *Children) createAll(ctx context.Context, missing []*rules.Desired, t *collection) {
	var failed decide.Brake
	all := make([]*turn, 0, len(missing))
	var todo []*turn
	for _, d := range missing {
		next := &turn{d: d, w: p.Memory.Child(d.Identity)}
		all = append(all, next)
		if next.err = next.w.Rejected.Stands(p.Subject, d.Hash, ""); next.err == nil {
			todo = append(todo, next)
		} else {
			failed.Note(d, next.became, next.err)
		}
	}
	shareBackoff(all)
	slices.SortStableFunc(todo, func(a, b *turn) int { return a.w.Failure.At().Compare(b.w.Failure.At()) })
	for size := 1 + countFailed(todo)/mostRounds; len(todo) > 0; size *= 2 {
		var batch []*turn
		var creations []*creation
		for len(todo) > 0 && len(batch) < size {
			next := todo[0]
			todo = todo[1:]
			if failed.Stops(next.d) || failed.Postponed && next.w.Rejected.Repeats(next.d.Hash) {
				next.stop()
				continue
			}
			c, became, err := p.creationOf(ctx, next.d)
			if c == nil {
				p.end(next, &failed, became, err)
				continue
			}
			batch, creations = append(batch, next), append(creations, c)
		}
		p.send(ctx, creations)
		for i, next := range batch {
			became, err := p.ChildWriter.created(ctx, creations[i])
			p.end(next, &failed, became, err)
		}
	}
	for _, each := range all { // In the order of the rendering, so that always the same one of several errors is reported.
		t.note(each.d, each.became, each.err)
	}
}

// end notes what became of an attempt.
func (p *Children) end(t *turn, failed *decide.Brake, became decide.Step, err error) {
	t.became, t.err = became, err
	failed.Note(t.d, became, err)
	if err != nil {
		t.w.Failure = p.Answers.NewFailure(t.d.Hash, err)
	}
}

// stop ends the turn of an object whose creation is not attempted, because that of another one has failed. What it
// failed with before is still true.
func (t *turn) stop() {
	if t.err = t.w.Failure.Standing(t.d.Hash); t.err == nil {
		t.became = decide.SkipFor(decide.ForOthers)
	}
}

// shareBackoff lets the failures of all objects count for each of them, because they take turns.
func shareBackoff(all []*turn) {
	var of []*access.Written
	for _, t := range all {
		if t.w.Rejected.Repeats(t.d.Hash) {
			of = append(of, t.w)
		}
	}
	access.ShareBackoff(of)
}

func countFailed(all []*turn) (n int) {
	for _, t := range all {
		if t.w.Failure != nil {
			n++
		}
	}
	return n
}

// creationOf returns the creation of an object, or the step or error that takes its place.
func (p *Children) creationOf(ctx context.Context, d *rules.Desired) (*creation, decide.Step, error) {
	k, err := p.ChildWriter.writableKind(d)
	if err != nil {
		return nil, decide.Step{}, err
	}
	return p.ChildWriter.prepareCreation(ctx, k, d, p.Memory.Child(d.Identity))
}

// send makes the requests of one batch, and returns when all are answered.
func (p *Children) send(ctx context.Context, batch []*creation) {
	var running sync.WaitGroup
	slots := make(chan struct{}, p.InFlight)
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
func (p *Children) sendOne(ctx context.Context, c *creation) (err error) {
	defer p.Cluster.RecoverPanic(p.Req, &err)
	return p.Applier.apply(ctx, c.kind, c.d, c.w, c.body)
}
