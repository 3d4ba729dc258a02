package engine

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/engine/managedfields"
	"reconcel/rules"
)

// writeTimeout bounds one request, so that a worker is never held up for
// longer, and so that no write of a process outlives it by more.
const writeTimeout = 10 * time.Second

// ensure takes the next step for one object of a child. A replacement is left to
// the caller, who knows how many objects the child can spare.
func (p *pass) ensure(ctx context.Context, d *rules.Desired) (step, error) {
	c := p.primary.cacheOf(d.Identity.GVK)
	if c == nil {
		return step{}, errStarting // The kind has just been removed.
	}
	if err := p.inScope(c.kind, d); err != nil {
		return step{}, err
	}
	w := p.memory.child(d.Identity)
	live := p.live(d.Identity)
	next := decide(d, live, p.known(w, live))
	if next.action != Adopted {
		return p.do(ctx, c.kind, d, w, live, next)
	}
	existing, err := p.get(ctx, c.kind, d.Identity)
	if apierrors.IsNotFound(err) {
		return step{}, errStale
	}
	if err != nil {
		return step{}, err
	}
	return p.ensureExisting(ctx, c.kind, d, w, existing)
}

// ensureExisting takes the next step for an object that was read because the cache
// does not show it as it is. If the object is ours then it is applied in any case: the
// response stands in for it until the cache shows it.
func (p *pass) ensureExisting(ctx context.Context, k Kind, d *rules.Desired, w *written, existing *unstructured.Unstructured) (step, error) {
	live := newOwned(existing)
	now := p.known(w, live)
	now.renew = true
	next := decide(d, live, now)
	if next.action != Adopted && next.action != Skipped {
		w.foreign = false
		live = newObject(existing, childRole)
	}
	return p.do(ctx, k, d, w, live, next)
}

// known returns what decide needs to know about an object.
func (p *pass) known(w *written, live *object) known {
	return known{
		primary: p.req, ending: p.self.terminating(), rules: p.primary.Rules, written: w,
		deleted: live != nil && p.memory.hasDeleted(live.GetUID()),
		renew:   p.reapply || live != nil && p.verdict.inherits(live),
	}
}

// do takes a step, and returns what has become of it.
func (p *pass) do(ctx context.Context, k Kind, d *rules.Desired, w *written, live *object, next step) (step, error) {
	switch {
	case next.action == Created:
		return p.create(ctx, k, d, w)
	case next.action == Configured:
		return p.update(ctx, k, d, w, live)
	case next.action == Adopted:
		return p.adopt(ctx, k, d, w, &live.Unstructured)
	case next.action == Unchanged:
		return next, p.contested(d, w)
	case next.waits == forName:
		return p.foreign(d, live, w)
	}
	return next, nil
}

// inScope refuses a cluster-scoped child that the rule does not allow, and a
// namespaced child without a namespace, before anything is sent.
func (p *pass) inScope(k Kind, d *rules.Desired) error {
	id, why := d.Identity, ""
	switch allowed := d.Child.Allowed(); {
	case k.Namespaced && allowed:
		why = fmt.Sprintf("%s is namespaced: remove it from allow.clusterScoped", id.GVK.Kind)
	case k.Namespaced && id.Namespace == "":
		why = fmt.Sprintf("metadata.namespace is missing, %s is namespaced", id.GVK.Kind)
	case k.Namespaced && !p.engine.follows(id.Namespace):
		why = p.engine.notFollowed(id.Namespace)
	case !k.Namespaced && !allowed:
		why = fmt.Sprintf("%s is cluster-scoped: the rule may write it only if allow.clusterScoped names it", id.GVK.Kind)
	default:
		return nil
	}
	return &terminalError{string(rules.RuleError), 0, fmt.Errorf("%s/%s: %s", id.GVK.Kind, id.Name, why)}
}

// create makes the child by an apply that only creates: with resourceVersion
// "1" the API server answers 409 when the name is taken, so nothing can be
// adopted by accident, and a lost response or a stale cache makes no second one.
func (p *pass) create(ctx context.Context, k Kind, d *rules.Desired, w *written) (step, error) {
	if free, became, err := p.free(ctx, k, d, w); !free {
		return became, err
	}
	body, err := creationBody(d)
	if err != nil {
		return step{}, err
	}
	why := p.whyMissing(w)
	return p.created(ctx, k, d, w, why, p.apply(ctx, k, d, w, body))
}

// free reports whether there is hope for the creation of an object; if not, it
// also says what has become of it instead.
func (p *pass) free(ctx context.Context, k Kind, d *rules.Desired, w *written) (bool, step, error) {
	if w.foreign {
		// The name was taken a moment ago and most likely still is: look before
		// writing.
		existing, err := p.get(ctx, k, d.Identity)
		if err == nil {
			became, err := p.ensureExisting(ctx, k, d, w, existing)
			return false, became, err
		}
		if !apierrors.IsNotFound(err) {
			return false, step{}, err
		}
	}
	if err := w.refusal.of(p, d, ""); err != nil {
		return false, step{}, err
	}
	return true, step{}, nil
}

// creationBody returns the body of an apply that only creates.
func creationBody(d *rules.Desired) ([]byte, error) {
	fields, err := d.Ignored()
	if err != nil {
		return nil, err
	}
	return d.Complete("", "1", fields)
}

// created decides what the API server's answer to a creation means.
func (p *pass) created(ctx context.Context, k Kind, d *rules.Desired, w *written, why string, err error) (step, error) {
	switch {
	case apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err):
		existing, err := p.get(ctx, k, d.Identity)
		if err != nil {
			return step{}, err
		}
		return p.ensureExisting(ctx, k, d, w, existing)
	case namespaceEnds(err):
		return skip(forNamespace), nil
	case err != nil:
		return step{}, w.refusal.note(p, d, "", refused(err))
	}
	w.foreign = false
	p.did(Created, d, why)
	return step{action: Created}, nil
}

// foreign leaves an object of somebody else alone.
func (p *pass) foreign(d *rules.Desired, o *object, w *written) (step, error) {
	w.foreign = true
	now := known{primary: p.req}
	return step{}, &conflictError{
		object: d.Identity.String(), holder: holder(&o.Unstructured), adoptable: !d.Child.Adopt && now.adoptable(o),
	}
}

// update applies the rendering to an object of ours. It is forced, since every
// field that somebody else has changed is a conflict.
func (p *pass) update(ctx context.Context, k Kind, d *rules.Desired, w *written, live *object) (step, error) {
	if live.trackedBy() == "" {
		// Somebody has taken the owner away. It may be the garbage collector, as
		// the primary goes and its children are to stay: then they are left alone.
		if err := p.confirm(ctx); err != nil {
			return step{}, err
		}
	}
	version := live.GetResourceVersion()
	if err := w.refusal.of(p, d, version); err != nil {
		return p.unchangeable(d, err)
	}
	tell, err := p.damp(ctx, k, d, w, live)
	if err != nil {
		return step{}, err
	}
	err = p.write(ctx, k, d, w, live)
	if apierrors.IsInvalid(err) {
		var mended *object
		if mended, err = p.takeOwnership(ctx, k, d, live, err); mended != nil {
			err = p.write(ctx, k, d, w, mended)
		}
	}
	if err == nil && w.version == version {
		p.engine.metrics.idle.WithLabelValues(k.GVK.Kind).Inc()
	}
	if err != nil {
		return p.unchangeable(d, w.refusal.note(p, d, version, explained(d, err, remedy(d))))
	}
	if w.version != version {
		tell()
	}
	return step{action: Configured}, p.contested(d, w)
}

// damp counts an update of an object, and returns an error if it has to wait.
// Every one counts, whoever's mark the object bears: if our last write was the
// same then somebody has undone it. tell is to be called when the update has
// changed something.
func (p *pass) damp(ctx context.Context, k Kind, d *rules.Desired, w *written, live *object) (tell func(), err error) {
	id, now := d.Identity, p.engine.clock.Now()
	wait, by := time.Duration(0), ""
	switch {
	case p.reapply && !drifted(d, live, w):
		return func() { p.did(Configured, d, whyPeriodic) }, nil
	case p.verdict.inherits(live):
		return func() { p.did(Configured, d, whyTakenOver) }, nil
	case w.uid == live.GetUID() && w.hash == d.Hash || carries(live, d):
		if w.contest == nil {
			w.contest = &contest{}
		}
		if wait = w.contest.repair(now); wait == 0 {
			w.contest.by = p.whoChanged(ctx, k, d, w)
			return func() { p.repaired(d, w.contest.by) }, nil
		}
		by = w.contest.by.String()
	default:
		if wait = w.churn.change(now); wait == 0 {
			return func() { p.did(Configured, d, p.why) }, nil
		}
	}
	return nil, &contestedError{object: id.String(), by: by, wait: wait}
}

// contested returns an error as long as it is not known whether an object that
// was restored stays so.
func (p *pass) contested(d *rules.Desired, w *written) error {
	rest := w.contest.standing(p.engine.clock.Now())
	if rest == 0 {
		return nil
	}
	id := d.Identity
	return &contestedError{object: id.String(), by: w.contest.by.String(), wait: rest}
}

// unchangeable decides about an object that does not take an update: where that
// is what the rule says, it is replaced.
func (p *pass) unchangeable(d *rules.Desired, err error) (step, error) {
	if d.Child.OnChange != rules.Replace || !apierrors.IsInvalid(err) {
		return step{}, err
	}
	if len(d.Waits) > 0 {
		return skip(forValues), nil
	}
	return step{action: Replaced}, nil
}

// write applies the rendering to an object of ours. It holds for the state that
// was decided about: what a process sent that is gone meanwhile, and what comes
// late, must not undo what another has written since. Where that state has
// passed, it is read anew and tried once more: others may write often what is
// none of our concern, such as a status.
func (p *pass) write(ctx context.Context, k Kind, d *rules.Desired, w *written, live *object) error {
	err := p.writeOver(ctx, k, d, w, live)
	if !apierrors.IsConflict(err) {
		return err
	}
	existing, err := p.get(ctx, k, d.Identity)
	if apierrors.IsNotFound(err) {
		return errStale
	}
	if err != nil {
		return err
	}
	now := newObject(existing, childRole)
	if now.GetUID() != live.GetUID() || now.terminating() || now.trackedBy() != live.trackedBy() {
		return errStale // That is to be decided anew.
	}
	if err := p.writeOver(ctx, k, d, w, now); !apierrors.IsConflict(err) {
		return err
	}
	return errStale
}

// writeOver applies the rendering to one state of an object.
func (p *pass) writeOver(ctx context.Context, k Kind, d *rules.Desired, w *written, state *object) error {
	body, err := d.Complete(string(state.GetUID()), state.GetResourceVersion(), ownedIgnored(d, state))
	if err != nil {
		return err
	}
	return p.apply(ctx, k, d, w, body)
}

// apply sends one body and remembers the response.
func (p *pass) apply(ctx context.Context, k Kind, d *rules.Desired, w *written, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	force := true
	id := d.Identity
	writer := p.engine.writer(d.Child.Rule, p.req, k, id.Namespace)
	response, err := writer.Patch(ctx, id.Name, types.ApplyPatchType, body,
		metav1.PatchOptions{FieldManager: managedfields.Manager, Force: &force})
	if err != nil {
		return err
	}
	p.engine.metrics.writes.WithLabelValues("apply", id.GVK.Kind).Inc()
	// What is ours is read off the answer to the apply: a later state may show
	// somebody else's change.
	applied := managedfields.ChildEntry(response.Object)
	if response, err = p.releaseOrphanedFields(ctx, writer, response); err != nil {
		return err
	}
	o := newObject(response, childRole)
	*w = written{identity: id, uid: o.GetUID(), hash: d.Hash, fields: applied, version: o.GetResourceVersion(), object: o, contest: w.contest, churn: w.churn}
	return nil
}

// get reads the object under a child's name.
func (p *pass) get(ctx context.Context, k Kind, id rules.Identity) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	u, err := p.engine.resource(k, id.Namespace).Get(ctx, id.Name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", id.String(), err)
	}
	return u, nil
}
