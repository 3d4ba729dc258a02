package engine

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/rules"
)

// An action is what ensure did about a child.
type action int

const (
	unchanged   action = iota
	wrote              // created or updated
	held               // a gate is closed: created or changed later
	awaitingEnd        // an object of that name is being deleted
	unwelcome          // its namespace is being deleted, and takes no new objects
	outdated           // to be replaced
	postponed          // not tried, since others could not be created
)

// writeTimeout bounds one request, so that a worker is never held up for
// longer, and so that no write of a process outlives it by more.
const writeTimeout = 10 * time.Second

// ensure makes one child exist as rendered. It writes only where that is not
// so already, and never to an object of somebody else.
func (p *pass) ensure(ctx context.Context, d *rules.Desired) (action, error) {
	c := p.primary.cacheOf(d.Identity.GVK)
	if c == nil {
		return unchanged, errStarting // The kind has just been removed.
	}
	if err := p.inScope(c.kind, d); err != nil {
		return unchanged, err
	}
	w := p.memory.child(d.Identity)
	live := p.live(d.Identity)
	switch {
	case live == nil && len(d.Waits) > 0:
		return held, nil
	case live == nil:
		return p.create(ctx, c.kind, d, w)
	case live.terminating() || p.memory.hasDeleted(live.GetUID()):
		return awaitingEnd, nil // Whosever it is: the name will be free.
	case !p.ours(d, live, w):
		return p.notOurs(ctx, c.kind, d, w, live)
	case keeps(d.Child):
		return unchanged, nil
	case len(d.Waits) > 0 && !carries(live, d):
		return held, nil
	case replaces(d, live, w):
		return outdated, nil
	case !p.reapply && !drifted(d, live, w) && !p.verdict.inherits(live):
		return unchanged, p.contested(d, w)
	}
	return p.update(ctx, c.kind, d, w, live)
}

// inScope refuses a cluster-scoped child that the rule does not allow, and a
// namespaced child without a namespace, before anything is sent.
func (p *pass) inScope(k Kind, d *rules.Desired) error {
	id, why := d.Identity, ""
	switch allowed := d.Child.Allowed(); {
	case k.Namespaced && allowed:
		why = fmt.Sprintf("%s is namespaced: take it out of allow.clusterScoped", id.GVK.Kind)
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

// ours reports whether an object belongs to the primary: by its controller
// reference, or by the tracking annotation that we have written. Where somebody
// has taken that away, our own write is the proof: remembered by UID, or else
// the hash on the object, which covers the owner's UID.
func (p *pass) ours(d *rules.Desired, o *object, w *written) bool {
	if o.belongsTo(p.req) {
		return true
	}
	by := o.trackedBy()
	if by != "" && by != p.req.UID {
		return false
	}
	return w.uid != "" && w.uid == o.GetUID() || carries(o, d) || by == "" && keeps(d.Child) && p.abandoned(o)
}

// create makes the child by an apply that only creates: with resourceVersion
// "1" the API server answers 409 when the name is taken, so nothing can be
// adopted by accident, and a lost response or a stale cache makes no second one.
func (p *pass) create(ctx context.Context, k Kind, d *rules.Desired, w *written) (action, error) {
	if free, did, err := p.free(ctx, k, d, w); !free {
		return did, err
	}
	body, err := creationBody(d)
	if err != nil {
		return unchanged, err
	}
	why := p.whyMissing(w)
	return p.created(ctx, k, d, w, why, p.apply(ctx, k, d, w, body))
}

// free reports whether there is hope for the creation of an object; if not, it
// also says what has become of it instead.
func (p *pass) free(ctx context.Context, k Kind, d *rules.Desired, w *written) (bool, action, error) {
	if w.foreign {
		// The name was taken a moment ago and most likely still is: look before
		// writing.
		existing, err := p.get(ctx, k, d.Identity)
		if err == nil {
			did, err := p.occupied(ctx, k, d, w, existing)
			return false, did, err
		}
		if !apierrors.IsNotFound(err) {
			return false, unchanged, err
		}
	}
	if err := w.refusal.of(p, d, ""); err != nil {
		return false, unchanged, err
	}
	return true, unchanged, nil
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
func (p *pass) created(ctx context.Context, k Kind, d *rules.Desired, w *written, why string, err error) (action, error) {
	switch {
	case apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err):
		existing, err := p.get(ctx, k, d.Identity)
		if err != nil {
			return unchanged, err
		}
		return p.occupied(ctx, k, d, w, existing)
	case namespaceEnds(err):
		return unwelcome, nil
	case err != nil:
		return unchanged, w.refusal.note(p, d, "", refused(err))
	}
	w.foreign = false
	p.did("created", d, why)
	return wrote, nil
}

// occupied decides what to do about the object that was found under the
// child's name.
func (p *pass) occupied(ctx context.Context, k Kind, d *rules.Desired, w *written, existing *unstructured.Unstructured) (action, error) {
	switch {
	case existing.GetDeletionTimestamp() != nil:
		return awaitingEnd, nil
	case p.ours(d, newOwned(existing), w):
	case d.Child.Adopt && p.adoptable(existing), p.takesBack(d, newOwned(existing)):
		return p.adopt(ctx, k, d, w, existing)
	default:
		return p.foreign(d, existing, w)
	}
	w.foreign = false
	live := newObject(existing, childRole)
	switch {
	case keeps(d.Child):
		return unchanged, nil
	case replaces(d, live, w):
		return outdated, nil
	}
	return p.update(ctx, k, d, w, live)
}

// notOurs decides about an object that the cache shows under the child's name
// and that is not ours. It bears our labels, and may be what a former primary
// of the name has left behind.
func (p *pass) notOurs(ctx context.Context, k Kind, d *rules.Desired, w *written, live *object) (action, error) {
	switch {
	case (!d.Child.Adopt || !p.adoptable(&live.Unstructured)) && !p.takesBack(d, live):
		return p.foreign(d, &live.Unstructured, w)
	case len(d.Waits) > 0:
		return held, nil
	}
	existing, err := p.get(ctx, k, d.Identity)
	if apierrors.IsNotFound(err) {
		return unchanged, errStale
	}
	if err != nil {
		return unchanged, err
	}
	return p.occupied(ctx, k, d, w, existing)
}

// foreign leaves an object of somebody else alone. One that a former primary
// of the same name controls is about to go: the garbage collector takes it.
func (p *pass) foreign(d *rules.Desired, u *unstructured.Unstructured, w *written) (action, error) {
	w.foreign = true
	o := object{Unstructured: *u}
	if former, ok := o.controller(); ok && former.Kind == p.req.Kind && former.Name == p.req.Name &&
		(p.req.Namespace == "" || p.req.Namespace == former.Namespace) && former.UID != p.req.UID {
		return awaitingEnd, nil
	}
	id := d.Identity
	return unchanged, &conflictError{
		object: name(id.GVK.Kind, id.Namespace, id.Name), holder: holder(u), adoptable: !d.Child.Adopt && p.adoptable(u),
	}
}

// update applies the rendering to an object of ours. It is forced, since every
// field that somebody else has changed is a conflict.
func (p *pass) update(ctx context.Context, k Kind, d *rules.Desired, w *written, live *object) (action, error) {
	if live.trackedBy() == "" {
		// Somebody has taken the owner away. It may be the garbage collector, as
		// the primary goes and its children are to stay: then they are left alone.
		if err := p.confirm(ctx); err != nil {
			return unchanged, err
		}
	}
	version := live.GetResourceVersion()
	if err := w.refusal.of(p, d, version); err != nil {
		return p.unchangeable(d, err)
	}
	tell, err := p.damp(ctx, k, d, w, live)
	if err != nil {
		return unchanged, err
	}
	err = p.write(ctx, k, d, w, live)
	if apierrors.IsInvalid(err) {
		var mended *object
		if mended, err = p.claim(ctx, k, d, live, err); mended != nil {
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
	return wrote, p.contested(d, w)
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
		return func() { p.did("configured", d, whyPeriodic) }, nil
	case p.verdict.inherits(live):
		return func() { p.did("configured", d, whyTakenOver) }, nil
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
			return func() { p.did("configured", d, p.why) }, nil
		}
	}
	return nil, &contestedError{object: name(id.GVK.Kind, id.Namespace, id.Name), by: by, wait: wait}
}

// contested returns an error as long as it is not known whether an object that
// was restored stays so.
func (p *pass) contested(d *rules.Desired, w *written) error {
	rest := w.contest.standing(p.engine.clock.Now())
	if rest == 0 {
		return nil
	}
	id := d.Identity
	return &contestedError{object: name(id.GVK.Kind, id.Namespace, id.Name), by: w.contest.by.String(), wait: rest}
}

// unchangeable decides about an object that does not take an update: where that
// is what the rule says, it is replaced.
func (p *pass) unchangeable(d *rules.Desired, err error) (action, error) {
	if d.Child.OnChange != rules.Replace || !apierrors.IsInvalid(err) {
		return unchanged, err
	}
	if len(d.Waits) > 0 {
		return held, nil
	}
	return outdated, nil
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
		metav1.PatchOptions{FieldManager: FieldManager, Force: &force})
	if err != nil {
		return err
	}
	p.engine.metrics.writes.WithLabelValues("apply", id.GVK.Kind).Inc()
	// What is ours is read off the answer to the apply: a later state may show
	// somebody else's change.
	applied := ownFields(response.Object, childRole)
	if response, err = p.dropOrphanedFields(ctx, writer, response); err != nil {
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
		return nil, fmt.Errorf("read %s: %w", name(id.GVK.Kind, id.Namespace, id.Name), err)
	}
	return u, nil
}
