package engine

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/engine/answer"
	"reconcel/engine/watch"
	"reconcel/rules"
	"reconcel/rules/kstatus"
)

// child reconciles the objects of one child.
func (p *pass) child(ctx context.Context, rule *rules.Rule, c *rules.ChildResult) outcome {
	switch c.State {
	case rules.Excluded:
		return outcome{}
	case rules.Waiting:
		return waitingOutcome(childPosition(rule, c), c.Waits)
	case rules.Failed:
		return childPosition(rule, c).failed(c.Err)
	}
	if c.Child.IsCollection() {
		return p.ensureCollection(ctx, rule, c)
	}
	total := outcome{}
	for i := range c.Objects {
		total = worse(total, p.object(ctx, rule, &c.Objects[i]))
	}
	return total
}

func childPosition(rule *rules.Rule, c *rules.ChildResult) position {
	return position{rule: rule.Name, subject: fmt.Sprintf("child %q", c.Child.ID)}
}

// object reconciles one object of a child.
func (p *pass) object(ctx context.Context, rule *rules.Rule, d *rules.Desired) outcome {
	if o, rendered := unrendered(rule, d); !rendered {
		return o
	}
	became, err := p.ensure(ctx, d)
	if err == nil && became.action == Replaced {
		became, err = p.replace(ctx, d)
	}
	return p.became(rule, d, became, err)
}

// unrendered returns the outcome of an object that could not be rendered.
func unrendered(rule *rules.Rule, d *rules.Desired) (o outcome, rendered bool) {
	switch d.State {
	case rules.Excluded:
		return outcome{}, false
	case rules.Waiting:
		return waitingOutcome(positionOf(rule, d), d.Waits), false
	case rules.Failed:
		return positionOf(rule, d).failed(d.Err), false
	}
	return outcome{}, true
}

// writableKind returns the kind of an object. It rejects a cluster-scoped child that the
// rule does not allow, and a namespaced child without a namespace, before any request
// is sent.
func (p *pass) writableKind(d *rules.Desired) (Kind, error) {
	c := p.primary.cacheOf(d.Identity.GVK)
	if c == nil {
		return Kind{}, watch.ErrNotListed // The kind was just removed.
	}
	id, k, why := d.Identity, c.Kind(), ""
	switch allowed := d.Child.Allowed(); {
	case k.Namespaced && allowed:
		why = fmt.Sprintf("%s is namespaced: remove it from allow.clusterScoped", id.GVK.Kind)
	case k.Namespaced && id.Namespace == "":
		why = fmt.Sprintf("metadata.namespace is missing, %s is namespaced", id.GVK.Kind)
	case k.Namespaced && !p.engine.scope().Contains(id.Namespace):
		why = p.engine.scope().OutsideError(id.Namespace).Error()
	case !k.Namespaced && !allowed:
		why = fmt.Sprintf("%s is cluster-scoped: the rule may write it only if allow.clusterScoped names it", id.GVK.Kind)
	default:
		return k, nil
	}
	return k, &terminalError{string(rules.RuleError), 0, fmt.Errorf("%s/%s: %s", id.GVK.Kind, id.Name, why)}
}

func (e *Engine) scope() watch.Scope { return watch.Scope(e.options.Namespaces) }

// ensure takes the next step for one object of a child. The caller performs a
// replacement, because it knows how many objects the child can spare.
func (p *pass) ensure(ctx context.Context, d *rules.Desired) (step, error) {
	k, err := p.writableKind(d)
	if err != nil {
		return step{}, err
	}
	w := p.memory.child(d.Identity)
	live := p.live(d.Identity)
	next := decide(d, live, p.known(d, w, live))
	w.seen = w.seen || next.action == Unchanged || next.action == Configured
	// Another writer may have removed the labels of a done object that the watch selects.
	vanished := next.action == Unchanged && live == nil && d.Done != nil && (!w.gone || w.uid == d.Done.UID)
	if next.action != Adopted && !vanished {
		return p.do(ctx, k, d, w, live, next)
	}
	existing, err := p.get(ctx, k, d.Identity)
	switch {
	case answer.IsAbsent(err) && vanished:
		w.uid, w.gone = "", true
		return next, nil
	case answer.IsAbsent(err):
		return step{}, errStale
	}
	if err != nil {
		return step{}, err
	}
	return p.ensureExisting(ctx, k, d, w, existing)
}

// ensureExisting takes the next step for an object that was read because the cache
// is behind. If the object is ours, it is always applied: the response replaces the
// cached state until the cache catches up.
func (p *pass) ensureExisting(ctx context.Context, k Kind, d *rules.Desired, w *written, existing *unstructured.Unstructured) (step, error) {
	live := watch.NewUntrimmed(existing)
	now := p.known(d, w, live)
	now.renew = true
	next := decide(d, live, now)
	if next.action != Adopted && next.action != Skipped {
		w.foreign = false
		live = watch.NewObject(existing, watch.Child)
	}
	return p.do(ctx, k, d, w, live, next)
}

// known returns the facts that decide needs about an object.
func (p *pass) known(d *rules.Desired, w *written, live *watch.Object) known {
	return known{
		primary: p.req, since: p.self.GetCreationTimestamp(), ending: p.self.Terminating(), rules: p.primary.Rules, written: w,
		deleted: live != nil && p.memory.hasDeleted(live.GetUID()),
		again:   d.Done != nil && d.Done.AskedAgain(p.self.Content()), retry: d.Done != nil && d.Done.Retried(p.engine.clock.Now()),
		renew: p.reapply && p.reapplies(d, live) || live != nil && p.verdict.inherits(live) || d.Child.Generates() && p.isDue(d, live) || p.predatesSchema(d, live, w),
	}
}

// do takes a step, and returns the result.
func (p *pass) do(ctx context.Context, k Kind, d *rules.Desired, w *written, live *watch.Object, next step) (step, error) {
	took, err := p.take(ctx, k, d, w, live, next)
	if err == nil && d.Child.Shared {
		err = p.settled(ctx, k, d, w)
	}
	return took, err
}

func (p *pass) take(ctx context.Context, k Kind, d *rules.Desired, w *written, live *watch.Object, next step) (step, error) {
	switch {
	case next.action == Shared:
		return p.share(ctx, k, d, w, live)
	case next.action == Created:
		return p.create(ctx, k, d, w)
	case next.action == Configured:
		return p.update(ctx, k, d, w, live)
	case next.action == Adopted:
		return p.adopt(ctx, k, d, w, live)
	case next.action == Unchanged:
		if fields := p.lateFields(d, live); len(fields) > 0 {
			return next, p.setLate(ctx, k, d, w, live, fields)
		}
		if p.outdatedReference(d, live) {
			return next, p.renewReference(ctx, k, d, w)
		}
		return next, p.contested(d, w)
	case next.waits == forName:
		return p.foreign(d, live, w)
	}
	return next, nil
}

// foreign reports a conflict with an object of another owner, which stays unchanged.
func (p *pass) foreign(d *rules.Desired, o *watch.Object, w *written) (step, error) {
	w.foreign = true
	now := known{primary: p.req}
	return step{}, &conflictError{
		object: d.Identity.String(), holder: o.Holder(), adoptable: !d.Child.Adopt && !d.Child.Shared && now.adoptable(o),
	}
}

// became returns the outcome of a step or an error.
func (p *pass) became(rule *rules.Rule, d *rules.Desired, took step, err error) outcome {
	at := positionOf(rule, d)
	p.findings.decided(d, took, err)
	switch {
	case err != nil:
		o := p.outcomeOf(at.wrap(err))
		o.failed = true
		return o
	case took.action == Skipped:
		return skipped(at, d, took.waits)
	case took.action != Unchanged:
		return at.says(progressing, reasonProgressing, "applied")
	}
	o := readiness(at, d)
	if d.Child.Generates() {
		_, next := p.generated(d, p.live(d.Identity))
		o = o.after(next)
	}
	return o
}

// skipped returns the outcome of a skipped object.
func skipped(at position, d *rules.Desired, what waitFor) outcome {
	o := at.says(waiting, reasonWaiting, "%s", what.text(d))
	switch what {
	case forDeletion:
		o.retry = terminatingWait
	case forOwnDeletion:
		o.retry = staleRetry // No need to wait for the watch event: it will report our own deletion.
	case forNamespace:
		o.reason, o.retry = reasonNamespaceEnding, terminatingWait
	case forReplacement:
		o.state, o.reason = progressing, reasonProgressing
	}
	return o
}

// text describes what a skipped object waits for.
func (w waitFor) text(d *rules.Desired) string {
	switch w {
	case forDeletion, forOwnDeletion:
		return fmt.Sprintf("waits for the deletion of the previous %s", d.Child.GVK.Kind)
	case forNamespace:
		return fmt.Sprintf("namespace %s is being deleted; kubectl describe namespace %[1]s shows what it waits for", d.Identity.Namespace)
	case forReplacement:
		return "waits for its replacement"
	case forOthers:
		return "waits until other objects of its kind can be created"
	}
	return waitingText(d.Waits)
}

func waitingOutcome(at position, what []string) outcome {
	return at.says(waiting, reasonWaiting, "%s", waitingText(what))
}

func waitingText(what []string) string { return "waits for " + joinFirst(what) }

// readiness returns the outcome of an object from its live status.
func readiness(at position, d *rules.Desired) outcome {
	if d.Readiness == kstatus.Ready {
		return outcome{}
	}
	object := d.Identity.String()
	if d.Readiness == kstatus.Stalled {
		return at.says(stalled, reasonChildFailed, "%s: %s", object, d.Reason)
	}
	return at.says(progressing, reasonProgressing, "%s: %s", object, d.Reason)
}
