package engine

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/engine/watch"
	"reconcel/rules"
)

// ensure takes the next step for one object of a child. A replacement is left to
// the caller, who knows how many objects the child can spare.
func (p *pass) ensure(ctx context.Context, d *rules.Desired) (step, error) {
	c := p.primary.cacheOf(d.Identity.GVK)
	if c == nil {
		return step{}, watch.ErrNotListed // The kind has just been removed.
	}
	if err := p.inScope(c.Kind(), d); err != nil {
		return step{}, err
	}
	w := p.memory.child(d.Identity)
	live := p.live(d.Identity)
	next := decide(d, live, p.known(w, live))
	if next.action != Adopted {
		return p.do(ctx, c.Kind(), d, w, live, next)
	}
	existing, err := p.get(ctx, c.Kind(), d.Identity)
	if apierrors.IsNotFound(err) {
		return step{}, errStale
	}
	if err != nil {
		return step{}, err
	}
	return p.ensureExisting(ctx, c.Kind(), d, w, existing)
}

// ensureExisting takes the next step for an object that was read because the cache
// does not show it as it is. If the object is ours then it is applied in any case: the
// response stands in for it until the cache shows it.
func (p *pass) ensureExisting(ctx context.Context, k Kind, d *rules.Desired, w *written, existing *unstructured.Unstructured) (step, error) {
	live := watch.NewUntrimmed(existing)
	now := p.known(w, live)
	now.renew = true
	next := decide(d, live, now)
	if next.action != Adopted && next.action != Skipped {
		w.foreign = false
		live = watch.NewObject(existing, watch.Child)
	}
	return p.do(ctx, k, d, w, live, next)
}

// known returns what decide needs to know about an object.
func (p *pass) known(w *written, live *watch.Object) known {
	return known{
		primary: p.req, ending: p.self.Terminating(), rules: p.primary.Rules, written: w,
		deleted: live != nil && p.memory.hasDeleted(live.GetUID()),
		renew:   p.reapply || live != nil && p.verdict.inherits(live),
	}
}

// do takes a step, and returns what has become of it.
func (p *pass) do(ctx context.Context, k Kind, d *rules.Desired, w *written, live *watch.Object, next step) (step, error) {
	switch {
	case next.action == Created:
		return p.create(ctx, k, d, w)
	case next.action == Configured:
		return p.update(ctx, k, d, w, live)
	case next.action == Adopted:
		return p.adopt(ctx, k, d, w, live)
	case next.action == Unchanged:
		return next, p.contested(d, w)
	case next.waits == forName:
		return p.foreign(d, live, w)
	}
	return next, nil
}

// foreign leaves an object of somebody else alone.
func (p *pass) foreign(d *rules.Desired, o *watch.Object, w *written) (step, error) {
	w.foreign = true
	now := known{primary: p.req}
	return step{}, &conflictError{
		object: d.Identity.String(), holder: o.Holder(), adoptable: !d.Child.Adopt && now.adoptable(o),
	}
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
	case k.Namespaced && !p.engine.scope().Contains(id.Namespace):
		why = p.engine.scope().OutsideError(id.Namespace).Error()
	case !k.Namespaced && !allowed:
		why = fmt.Sprintf("%s is cluster-scoped: the rule may write it only if allow.clusterScoped names it", id.GVK.Kind)
	default:
		return nil
	}
	return &terminalError{string(rules.RuleError), 0, fmt.Errorf("%s/%s: %s", id.GVK.Kind, id.Name, why)}
}
