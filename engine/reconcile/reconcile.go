package reconcile

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"reconcel/engine/access"
	"reconcel/engine/answer"
	"reconcel/engine/decide"
	"reconcel/engine/ident"
	"reconcel/engine/outcome"
	"reconcel/engine/plan"
	"reconcel/engine/report"
	"reconcel/engine/watch"
	"reconcel/engine/write"
	"reconcel/rules"
)

// A Reconciler reconciles one primary.
type Reconciler struct {
	*access.Shared
	Cluster *access.Cluster
}

// Reconcile brings the children, the patch and the status of one primary to the
// state that the rules render. It is idempotent and may be called at any time.
func (e *Reconciler) Reconcile(ctx context.Context, req ident.Request) (outcome.Result, error) {
	pl, place := e.Enter(req)
	defer pl.Leave(place)
	p, err := e.Begin(ctx, pl, req)
	if p == nil || err != nil {
		return outcome.Result{}, err
	}
	defer p.Release()
	return p.Run(ctx)
}

// Begin returns the pass for a primary, or nil when there is nothing to do.
func (e *Reconciler) Begin(ctx context.Context, pl *plan.Plan, req ident.Request) (*Pass, error) {
	primary := pl.Primaries[req.Kind]
	if primary == nil {
		return nil, nil // No rule has this kind.
	}
	cache, err := primary.Watch.Cache()
	if err != nil {
		e.Memories.Lose(req) // The object may be gone together with its kind.
		return nil, nil      // Enqueued again as soon as there is a cache.
	}
	cached, listed := cache.Get(req.Namespace, req.Name)
	if !listed {
		e.Memories.Lose(req)
		return nil, nil // Enqueued again as soon as the cache has listed it.
	}
	if primary.Next != nil && primary.Rollout.Reaches(req, cached) {
		primary = primary.Next
	}
	admitted := pl.Admitted.Load()
	if admitted.RefusesAll(primary) {
		e.Memories.Lose(req)
		return nil, nil // Another installation manages it.
	}
	self, err := e.find(ctx, primary, cache, cached, req)
	if self == nil || err != nil {
		return nil, err
	}
	memory := e.Memories.Get(req)
	self = memory.Newest(self)
	if self.Terminating() && !primary.HasFinalizer(self) {
		if cached == nil {
			e.Memories.Forget(req) // No event reports its deletion.
		}
		return nil, nil // The garbage collector deletes its children.
	}
	return PassOf(access.Subject{
		Shared: e.Shared, Cluster: e.Cluster, Primary: primary, Cache: cache, Cached: cached != nil &&
			cached.GetUID() == req.UID, Req: req, Self: self,
		Memory: memory, Admitted: admitted, Trigger: memory.Seen.See(primary.Digest, self, e.Started),
		Request: rules.RequestOf(self.Content()),
	}), nil
}

// find returns the primary, or nil when it is gone. A primary that is not in the cache
// was deleted or no longer matches the watch's selector, or the cache lags behind. Only
// a live read can tell. It is omitted if nothing follows from it: the garbage collector
// deletes the objects with an owner reference.
func (e *Reconciler) find(ctx context.Context, primary *plan.PrimaryKind, cache *watch.Cache, cached *watch.Object,
	req ident.Request) (*watch.Object, error) {
	if primary.ForCluster() {
		return e.findBundle(ctx, primary, cache, cached, req)
	}
	if cached != nil && cached.GetUID() == req.UID {
		return cached, nil
	}
	if primary.Watch.Selector == "" && !primary.OrphanedObjects.Has(req) && !primary.HasChild(req, plan.IsUncontrolled) {
		e.Memories.Forget(req)
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, plan.WriteTimeout)
	defer cancel()
	live, err := e.Cluster.Resource(cache.Kind(), req.Namespace).Get(ctx, req.Name, metav1.GetOptions{})
	switch {
	case answer.IsAbsent(err), err == nil && live.GetUID() != req.UID:
		e.Memories.Forget(req)
		return nil, errors.Join(e.pruneAfter(ctx, primary, req), e.pruneOrphanedAfter(ctx, primary, req))
	case err != nil:
		return nil, fmt.Errorf("%s: read: %w", req, err)
	}
	return watch.NewObject(live, watch.Primary), nil
}

// A Pass is one reconciliation of one primary. Its parts read, decide, write and report;
// each uses only those above it.
type Pass struct {
	access.Subject
	rendered    rules.Rendering
	View        access.View
	reader      access.Reader
	Answers     access.Answers
	journal     access.Journal
	Metadata    access.Metadata
	doneMarks   write.DoneMarks
	remover     write.Remover
	applier     write.Applier
	ChildWriter write.ChildWriter
	Children    write.Children
	patches     write.Patches
	pruner      write.Pruner
	Teardown    write.Teardown
	Reporter    report.Reporter
}

// passes are reused: most reconciliations find nothing to do.
var passes = sync.Pool{New: func() any { return newPass() }}

// newPass connects the parts of a reconciliation.
func newPass() *Pass {
	p := &Pass{}
	s := &p.Subject
	p.View = access.View{Subject: s}
	p.reader = access.Reader{Subject: s}
	p.Answers = access.Answers{Subject: s}
	p.journal = access.Journal{Subject: s, View: &p.View}
	p.Metadata = access.Metadata{Subject: s}
	p.doneMarks = write.DoneMarks{Subject: s, View: &p.View, Answers: &p.Answers, Metadata: &p.Metadata}
	p.remover = write.Remover{Subject: s, Reader: &p.reader, Answers: &p.Answers, Journal: &p.journal}
	p.applier = write.Applier{Subject: s, View: &p.View, Reader: &p.reader, Journal: &p.journal}
	p.ChildWriter = write.ChildWriter{Subject: s, View: &p.View, Reader: &p.reader, Answers: &p.Answers,
		Journal: &p.journal, Remover: &p.remover, Applier: &p.applier}
	p.Children = write.Children{Subject: s, View: &p.View, Answers: &p.Answers, Applier: &p.applier,
		ChildWriter: &p.ChildWriter}
	p.patches = write.Patches{Subject: s, View: &p.View, Reader: &p.reader, Answers: &p.Answers}
	p.pruner = write.Pruner{Subject: s, View: &p.View, Answers: &p.Answers, Remover: &p.remover, Patches: &p.patches}
	p.Teardown = write.Teardown{Subject: s, View: &p.View, Reader: &p.reader, Answers: &p.Answers, Journal: &p.journal,
		Metadata: &p.Metadata, DoneMarks: &p.doneMarks, Remover: &p.remover, ChildWriter: &p.ChildWriter,
		Children: &p.Children, Patches: &p.patches, Pruner: &p.pruner}
	p.Reporter = report.Reporter{Subject: s, View: &p.View, Reader: &p.reader, Answers: &p.Answers, Journal: &p.journal,
		Patches: &p.patches}
	return p
}

// PassOf returns a reconciliation of a subject. release ends its use.
func PassOf(s access.Subject) *Pass {
	p := passes.Get().(*Pass)
	s.Rendering = &p.rendered
	p.Subject = s
	return p
}

// Release lets other reconciliations reuse the memory. Neither the pass nor its rendering may be used afterwards.
func (p *Pass) Release() {
	p.Subject = access.Subject{}
	passes.Put(p)
}

// Discard is Release for a pass with a memory of its own.
func (p *Pass) Discard() {
	p.Memory.Reads.End()
	p.Release()
}

// Run reconciles the primary, and reports what came of it.
func (p *Pass) Run(ctx context.Context) (outcome.Result, error) {
	now := p.Clock.Now()
	p.Reapply = !p.Memory.ReapplyAt.IsZero() && !now.Before(p.Memory.ReapplyAt)
	p.noteOpenGate(now)
	p.View.Render(now)
	if p.Self.Paused() {
		return p.skipPaused(ctx, now)
	}
	if p.Memory.Pause != plan.Running {
		p.resume()
	}
	request := p.noteRequest()
	defer func() {
		if !p.Stale {
			p.Memory.StaleSince = time.Time{}
		}
	}()
	total := p.Rules(ctx).After(p.RetryTimedOut()).After(request)
	total = outcome.Worse(total, p.pruner.PruneOrphaned(ctx))
	p.View.Forget()
	if slices.ContainsFunc(p.View.Memory.Children, func(w *access.Written) bool { return w.Object != nil }) {
		// A cache does not show one of our writes yet.
		total = total.After(outcome.UnshownRetry)
	}
	p.reportPauseIgnored()
	gate := p.awaitGate()
	if !p.View.Matches() || p.Gone || p.Self.Terminating() && !p.Primary.HasFinalizer(p.Self) {
		total = p.patches.WithdrawAnnotation(ctx, total)
		p.dismiss(total)
		if p.Primary.Rollout != nil {
			p.noteRollout(total)
		}
		return total.After(gate).Result() // No rule manages it any more. Its last status stays.
	}
	total = p.Reporter.Status(ctx, total, now)
	if p.Primary.Rollout != nil {
		p.noteRollout(total)
	}
	p.reportRequest()
	total = total.After(p.Reporter.Report(total))
	total = total.After(p.scheduleReapply(total, now)).After(gate)
	if p.Log.Enabled(ctx, slog.LevelDebug) { // Computing the arguments is expensive.
		p.Log.Debug("reconciled", "object", p.Req.String(), "state", total.State, "trigger", p.Trigger,
			"message", total.Message())
	}
	return total.Result()
}

// Rules applies the rules one after another, and returns the worst outcome.
func (p *Pass) Rules(ctx context.Context) outcome.Outcome {
	total, started := outcome.Outcome{}, time.Now()
	for i := range p.Rendering.Rules {
		r := p.Rendering.Rules[i].Rule
		if suspended := p.View.Suspended(r); suspended || p.Admitted.Refuses(r) {
			p.Memory.Share(i).Set(plan.Share{})
			if h, _ := p.View.HoldOf(r); suspended && p.View.Manages(&p.Rendering.Rules[i]) {
				at := outcome.Position{Rule: r.Name}
				total = outcome.Worse(total, at.Says(outcome.Stalled, outcome.ReasonHeld, "%s", h.Brief))
			}
			continue
		}
		o := p.rule(ctx, &p.Rendering.Rules[i])
		ended := time.Now()
		p.count(i, o, ended.Sub(started))
		total, started = outcome.Worse(total, o), ended
	}
	p.Memory.Withdraw(len(p.Rendering.Rules))
	return total
}

// rule reconciles one rule. Its failure does not stop the other rules.
func (p *Pass) rule(ctx context.Context, r *rules.RuleResult) outcome.Outcome {
	if r.Err != nil {
		return outcome.Position{Rule: r.Rule.Name}.Failed(r.Err)
	}
	if o, wait := p.View.Unjudged(r); wait {
		return o
	}
	if !r.Matches && !r.Teardown {
		return p.Teardown.Leave(ctx, r)
	}
	if r.Teardown {
		return p.Teardown.End(ctx, r)
	}
	if kind, why := p.View.UnlistedKind(r); why != "" {
		return outcome.Position{Rule: r.Rule.Name}.Says(outcome.Waiting, outcome.ReasonWaiting, "waits for kind %s: %s", kind,
			why)
	}
	delete(p.Memory.DeselectedAt, r.Rule.Name)
	if r.NeedsFinalizer() || p.Self.HasFinalizer(r.Rule) {
		if err := p.Teardown.EnsureFinalizer(ctx, r); err != nil {
			return p.Answers.OutcomeOf(outcome.Position{Rule: r.Rule.Name}.Wrap(err))
		}
	}
	total := outcome.Outcome{}
	var failed []*rules.Child
	for i := range r.Children {
		o := p.Children.Child(ctx, r.Rule, &r.Children[i])
		if o.Failed {
			failed = append(failed, r.Children[i].Child)
		}
		total = outcome.Worse(total, o)
	}
	total = outcome.Worse(total, p.patches.Patch(ctx, r))
	if r.StatusErr != nil {
		total = outcome.Worse(total, outcome.Position{Rule: r.Rule.Name, Subject: "status"}.Failed(r.StatusErr))
	}
	if r.Rule.Remembers() {
		total = outcome.Worse(total, p.doneMarks.Remember(ctx, r))
	} else if err := p.doneMarks.ForgetDone(ctx, r.Rule); err != nil {
		total = outcome.Worse(total, p.Answers.OutcomeOf(outcome.Position{Rule: r.Rule.Name}.Wrap(err)))
	}
	// prune comes last: a replacement must exist before the old object is
	// deleted.
	return outcome.Worse(total, p.pruner.Prune(ctx, r, failed)).After(r.Rule.RequeueAfter)
}

// dismiss forgets a primary that needs no more work and is not in the watch's
// cache, because the watch will not report its deletion.
func (p *Pass) dismiss(total outcome.Outcome) {
	shown, _ := p.Cache.Get(p.Req.Namespace, p.Req.Name)
	if total.Err == nil && total.Retry == 0 && (shown == nil || shown.GetUID() != p.Req.UID) && !p.Primary.HasChild(p.Req,
		plan.AnyChild) {
		p.Memories.Forget(p.Req)
	}
}

// scheduleReapply schedules the slow periodic apply, which repairs drift that
// field ownership cannot show. The first apply comes 0.5 to 1.5 intervals after
// the start, so that a restart does not apply everything at once.
func (p *Pass) scheduleReapply(total outcome.Outcome, now time.Time) (wait time.Duration) {
	every := p.Options.ReapplyEvery
	if every <= 0 {
		return 0
	}
	switch {
	case p.Memory.ReapplyAt.IsZero():
		p.Memory.ReapplyAt = now.Add(every/2 + time.Duration(float64(every)*p.Random()))
	case p.Reapply && total.Err == nil:
		p.Memory.ReapplyAt = now.Add(outcome.Jitter(every, p.Random))
	}
	// Every reconciliation returns the delay, because the queue keeps only the
	// earliest delay of a request.
	return p.Memory.ReapplyAt.Sub(now)
}

// noteOpenGate names a gate as the trigger of a reconciliation that has no other one.
func (p *Pass) noteOpenGate(now time.Time) {
	if at := p.Memory.GateAt; p.Trigger == decide.WhyDependency && !at.IsZero() && !now.Before(at) {
		p.Trigger = decide.WhyGate
	}
}

// awaitGate returns the delay until the next gate of the rules opens, or 0. It is at least a nanosecond: a
// gate may open during a reconciliation.
func (p *Pass) awaitGate() time.Duration {
	var first time.Time
	for i := range p.Rendering.Rules {
		if next := p.Rendering.Rules[i].Next; !next.IsZero() && (first.IsZero() || next.Before(first)) {
			first = next
		}
	}
	p.Memory.GateAt = first
	if first.IsZero() {
		return 0
	}
	return max(first.Sub(p.Clock.Now()), time.Nanosecond)
}

// RetryTimedOut returns the delay until rules that timed out are rendered again.
func (p *Pass) RetryTimedOut() time.Duration {
	for i := range p.Rendering.Rules {
		if p.Rendering.Rules[i].TimedOut {
			return outcome.Jitter(outcome.RefusedRetry, p.Random)
		}
	}
	return 0
}

// noteRollout tells the rollout that has brought the rules to this primary what came of it.
func (p *Pass) noteRollout(o outcome.Outcome) {
	if p.Primary.Next == nil {
		p.Primary.Rollout.Note(p.Req, o)
	}
}
