package engine

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/rules"
)

// adoptable reports whether nobody has the object. One that is tracked by a
// primary of the same kind, namespace and name but another UID was left behind
// by that.
func (p *pass) adoptable(u *unstructured.Unstructured) bool {
	o := object{Unstructured: *u}
	if _, controlled := o.controller(); controlled || o.terminating() {
		return false
	}
	former, tracked := o.owner()
	if !tracked {
		_, marked := u.GetAnnotations()[rules.AnnotationOwner]
		return !marked // One that cannot be read may be somebody's.
	}
	former.UID = p.req.UID
	return former == p.req
}

// takesBack reports whether an object is what a former primary of this kind,
// namespace and name left behind: the same rule and child made it, and orphaned
// it. It goes on to be what it was, as a StatefulSet takes its claims back.
func (p *pass) takesBack(d *rules.Desired, o *object) bool {
	former, tracked := o.owner()
	if !tracked || !o.orphan() || !o.belongsTo(former) || o.rule() != d.Child.Rule.Name || o.child() != d.Child.ID {
		return false
	}
	return p.adoptable(&o.Unstructured)
}

// adopt takes over an object in exactly the state that was read.
func (p *pass) adopt(ctx context.Context, k Kind, d *rules.Desired, w *written, existing *unstructured.Unstructured) (action, error) {
	if p.self.terminating() {
		return p.foreign(d, existing, w)
	}
	if err := p.confirm(ctx); err != nil {
		return unchanged, err
	}
	version := existing.GetResourceVersion()
	if err := w.refusal.of(p, d, version); err != nil {
		return unchanged, err
	}
	body := d.AppendApply(nil, string(existing.GetUID()), version)
	if keeps(d.Child) {
		var err error
		if body, err = rules.Marks(body); err != nil {
			return unchanged, err
		}
	}
	err := p.apply(ctx, k, d, w, body)
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return unchanged, errStale // It changed between the read and the apply.
	case err != nil:
		w.foreign = true // The next look is at what exists, and not a creation.
		return unchanged, w.refusal.note(p, d, version, explained(d, err, ""))
	}
	subject := name(k.GVK.Kind, d.Identity.Namespace, d.Identity.Name)
	p.did("adopted", d, p.why)
	p.engine.events.normal(p.self, reasonAdopted, "took over "+subject+", which nobody controlled")
	p.findings.adopted(d)
	return wrote, nil
}
