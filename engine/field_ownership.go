package engine

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"reconcel/engine/discover"
	"reconcel/engine/managedfields"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// repairFields repairs the fields of an object that an apply cannot repair alone, see managedfields.Repair:
// those that block the rejected apply, stand in for ours, or are left in a field that is divided. It returns
// the object for the next attempt, or nil and the final error. The rejection is nil if there was none.
func (p *pass) repairFields(ctx context.Context, k discover.Kind, d *rules.Desired, live *watch.Object, divided []fieldpath.Path, rejection error) (*watch.Object, error) {
	desired, err := d.Object()
	if err != nil {
		return nil, rejection
	}
	u, err := p.get(ctx, k, d.Identity)
	if err != nil || u.GetUID() != live.GetUID() || u.GetDeletionTimestamp() != nil {
		return nil, rejection
	}
	patch, err := managedfields.Repair{
		Live: u, Desired: desired, Manager: managedfields.Rendering, Divided: divided, Causes: causedFields(rejection), AcceptedBefore: carriesRendering(watch.NewUntrimmed(u), d),
	}.Patch()
	if patch == nil || err != nil {
		return nil, rejection
	}
	patched, err := p.engine.writer(d.Child.Rule, p.req, k, d.Identity.Namespace).edit(ctx, d.Identity.Name, patch, managedfields.Manager)
	if err != nil {
		return nil, repairError(err)
	}
	return watch.NewObject(patched, watch.Child), nil
}

// releaseOrphanedFields removes the managedFields entry of a manager that no
// longer exists from an object that we have just applied, see
// managedfields.ReleaseOrphanedFields. Otherwise a field would stay after the
// rule stops rendering it.
func (p *pass) releaseOrphanedFields(ctx context.Context, writer writer, name string) (*watch.Object, error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	for { // ctx limits the number of attempts.
		u, err := p.engine.resource(writer.kind, writer.namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		patch, err := managedfields.ReleaseOrphanedFields(u)
		if err != nil {
			return nil, err
		}
		if patch != nil {
			u, err = writer.edit(ctx, name, patch, "")
		}
		if apierrors.IsInvalid(err) || apierrors.IsConflict(err) {
			continue // A test of the patch failed: another writer changed the object.
		}
		if err != nil {
			return nil, err
		}
		return watch.NewObject(u, watch.Child), nil
	}
}
