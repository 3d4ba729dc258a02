package write

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/engine/access"
	"reconcel/engine/answer"
	"reconcel/engine/decide"
	"reconcel/engine/ident"
	"reconcel/engine/outcome"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// A ChildWriter decides about one object of a child, and takes the step.
type ChildWriter struct {
	*access.Subject
	View    *access.View
	Reader  *access.Reader
	Answers *access.Answers
	Journal *access.Journal
	Remover *Remover
	Applier *Applier
}

// Children bring all objects of a child to their renderings.
type Children struct {
	*access.Subject
	View        *access.View
	Answers     *access.Answers
	Applier     *Applier
	ChildWriter *ChildWriter
}

// Child reconciles the objects of one child.
func (p *Children) Child(ctx context.Context, rule *rules.Rule, c *rules.ChildResult) outcome.Outcome {
	switch c.State {
	case rules.Excluded:
		return outcome.Outcome{}
	case rules.Waiting:
		return decide.WaitingOutcome(decide.ChildPosition(rule, c), c.Waits)
	case rules.Failed:
		return decide.ChildPosition(rule, c).Failed(c.Err)
	}
	if c.Child.IsCollection() {
		return p.ensureCollection(ctx, rule, c)
	}
	total := outcome.Outcome{}
	for i := range c.Objects {
		total = outcome.Worse(total, p.object(ctx, rule, &c.Objects[i]))
	}
	return total
}

// object reconciles one object of a child.
func (p *Children) object(ctx context.Context, rule *rules.Rule, d *rules.Desired) outcome.Outcome {
	if o, rendered := decide.Unrendered(rule, d); !rendered {
		return o
	}
	became, err := p.ChildWriter.ensure(ctx, d)
	if err == nil && became.Action == outcome.Replaced {
		became, err = p.ChildWriter.replace(ctx, d)
	}
	return p.became(rule, d, became, err)
}

// writableKind returns the kind of an object. It rejects a cluster-scoped child that the
// rule does not allow, and a namespaced child without a namespace, before any request
// is sent.
func (p *ChildWriter) writableKind(d *rules.Desired) (ident.Kind, error) {
	c := p.Primary.CacheOf(d.Identity.GVK)
	if c == nil {
		return ident.Kind{}, watch.ErrNotListed // The kind was just removed.
	}
	id, k, why := d.Identity, c.Kind(), ""
	switch allowed := d.Child.Allowed(); {
	case k.Namespaced && allowed:
		why = fmt.Sprintf("%s is namespaced: remove it from allow.clusterScoped", id.GVK.Kind)
	case k.Namespaced && id.Namespace == "":
		why = fmt.Sprintf("metadata.namespace is missing, %s is namespaced", id.GVK.Kind)
	case k.Namespaced && !p.Cluster.Scope().Contains(id.Namespace):
		why = p.Cluster.Scope().OutsideError(id.Namespace).Error()
	case !k.Namespaced && !allowed:
		why = fmt.Sprintf("%s is cluster-scoped: the rule may write it only if allow.clusterScoped names it", id.GVK.Kind)
	default:
		return k, nil
	}
	return k, &outcome.TerminalError{Reason: string(rules.RuleError), Retry: 0,
		Err: fmt.Errorf("%s/%s: %s", id.GVK.Kind, id.Name, why)}
}

// ensure takes the next step for one object of a child. The caller performs a
// replacement, because it knows how many objects the child can spare.
func (p *ChildWriter) ensure(ctx context.Context, d *rules.Desired) (decide.Step, error) {
	k, err := p.writableKind(d)
	if err != nil {
		return decide.Step{}, err
	}
	w := p.Memory.Child(d.Identity)
	live := p.View.Live(d.Identity)
	next := Decide(d, live, p.Known(d, w, live))
	w.Seen = w.Seen || next.Action == outcome.Unchanged || next.Action == outcome.Configured
	// Another writer may have removed the labels of a done object that the watch selects.
	vanished := next.Action == outcome.Unchanged && live == nil && d.Done != nil && (!w.Gone || w.UID == d.Done.UID)
	if !next.Action.TakesForeign() && !vanished {
		return p.do(ctx, k, d, w, live, next)
	}
	existing, err := p.Reader.Get(ctx, k, d.Identity)
	switch {
	case answer.IsAbsent(err) && vanished:
		w.UID, w.Gone = "", true
		return next, nil
	case answer.IsAbsent(err):
		return decide.Step{}, decide.ErrStale
	}
	if err != nil {
		return decide.Step{}, err
	}
	return p.ensureExisting(ctx, k, d, w, existing)
}

// ensureExisting takes the next step for an object that was read because the cache
// is behind. If the object is ours, it is always applied: the response replaces the
// cached state until the cache catches up.
func (p *ChildWriter) ensureExisting(ctx context.Context, k ident.Kind, d *rules.Desired, w *access.Written,
	existing *unstructured.Unstructured) (decide.Step, error) {
	live := watch.NewUntrimmed(existing)
	now := p.Known(d, w, live)
	now.Renew = true
	next := Decide(d, live, now)
	if !next.Action.TakesForeign() && next.Action != outcome.Skipped {
		w.Foreign = false
		live = watch.NewObject(existing, watch.Child)
	}
	return p.do(ctx, k, d, w, live, next)
}

// Known returns the facts that decide needs about an object.
func (p *ChildWriter) Known(d *rules.Desired, w *access.Written, live *watch.Object) Known {
	return Known{
		Primary: p.Req, Since: p.Self.GetCreationTimestamp(), Ending: p.Self.Terminating(), rules: p.Primary.Rules,
		Written: w, findings: p.Findings,
		Deleted:  live != nil && p.Memory.HasDeleted(live.GetUID()),
		released: live != nil && p.View.Released(live, d.Identity),
		again:    d.Done != nil && d.Done.AskedAgain(p.Self.Content()), retry: d.Done != nil && d.Done.Retried(p.Clock.Now()),
		Renew: p.Reapply && p.reapplies(d, live) || p.Applier.requested(d, live, w) ||
			live != nil && p.Admitted.Inherits(live) ||
			d.Child.Generates() && p.Applier.isDue(d, live) || p.View.PredatesSchema(d, live, w),
	}
}

// do takes a step, and returns the result.
func (p *ChildWriter) do(ctx context.Context, k ident.Kind, d *rules.Desired, w *access.Written, live *watch.Object,
	next decide.Step) (decide.Step, error) {
	took, err := p.take(ctx, k, d, w, live, next)
	if err == nil && d.Child.Shared {
		err = p.settled(ctx, k, d, w)
	}
	return took, err
}

func (p *ChildWriter) take(ctx context.Context, k ident.Kind, d *rules.Desired, w *access.Written, live *watch.Object,
	next decide.Step) (decide.Step, error) {
	switch {
	case next.Action == outcome.Shared:
		return p.share(ctx, k, d, w, live)
	case next.Action == outcome.Created:
		return p.create(ctx, k, d, w)
	case next.Action == outcome.Configured:
		return p.update(ctx, k, d, w, live)
	case next.Action.TakesForeign():
		return p.adopt(ctx, k, d, w, live, next.Action)
	case next.Action == outcome.Unchanged:
		if fields := p.lateFields(d, live); len(fields) > 0 {
			return next, p.repeatably(d, w, live, func() error { return p.setLate(ctx, k, d, w, live, fields) })
		}
		if p.outdatedReference(d, live) {
			return next, p.repeatably(d, w, live, func() error { return p.renewReference(ctx, k, d, w) })
		}
		return next, p.Applier.contested(d, w)
	case next.Waits == decide.ForName:
		return p.foreign(d, live, w)
	}
	return next, nil
}

// repeatably makes a write to an object, unless the same one has failed and is not to be repeated yet.
func (p *ChildWriter) repeatably(d *rules.Desired, w *access.Written, live *watch.Object, write func() error) error {
	version := live.GetResourceVersion()
	if err := w.Rejected.Stands(p.Subject, d.Hash, version); err != nil {
		return err
	}
	return p.Answers.NoteRejection(&w.Rejected, d.Hash, version, write())
}

// foreign reports a conflict with an object of another owner, which stays unchanged.
func (p *ChildWriter) foreign(d *rules.Desired, o *watch.Object, w *access.Written) (decide.Step, error) {
	w.Foreign = true
	now, holder := Known{Primary: p.Req}, o.Holder()
	if now.extendedBefore(d, o) {
		return decide.Step{}, &outcome.ConflictError{Object: d.Identity.String(), Holder: holder, Extended: true}
	}
	if owner, marked := rules.AnnotatedOwner(o.DeepCopy().Object); marked && now.isFormer(owner) {
		holder = fmt.Sprintf("owned by an earlier %s of the same name, with the UID %s", p.Req, owner.UID)
	}
	return decide.Step{}, &outcome.ConflictError{
		Object: d.Identity.String(), Holder: holder, Adoptable: !d.Child.Adopt && !d.Child.Shared && now.adoptable(o),
	}
}

// became returns the outcome of a step or an error.
func (p *Children) became(rule *rules.Rule, d *rules.Desired, took decide.Step, err error) outcome.Outcome {
	at := outcome.PositionOf(rule, d)
	p.Findings.Decided(d, took, err)
	switch {
	case err != nil:
		o := p.Answers.OutcomeOf(at.Wrap(err))
		o.Failed = true
		return o
	case took.Action == outcome.Skipped:
		return decide.Skipped(at, d, took.Waits)
	case took.Action != outcome.Unchanged:
		return at.Says(outcome.Progressing, outcome.ReasonProgressing, "applied")
	}
	o := decide.Readiness(at, d)
	if d.Child.Generates() {
		_, next := p.Applier.generated(d, p.View.Live(d.Identity))
		o = o.After(next)
	}
	return o
}
