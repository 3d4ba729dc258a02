package write

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"reconcel/engine/access"
	"reconcel/engine/decide"
	"reconcel/engine/discover"
	"reconcel/engine/ident"
	"reconcel/engine/managedfields"
	"reconcel/engine/outcome"
	"reconcel/engine/plan"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// repairFields repairs the fields of an object that an apply cannot repair alone, see managedfields.Repair:
// those that block the rejected apply, stand in for ours, or are left in a field that is divided. It returns
// the object for the next attempt, or nil and the final error. The rejection is nil if there was none.
func (a *Applier) repairFields(ctx context.Context, k discover.Kind, d *rules.Desired, live *watch.Object,
	divided []fieldpath.Path, rejection error) (*watch.Object, error) {
	desired, err := d.Object()
	if err != nil {
		return nil, rejection
	}
	u, err := a.Reader.Get(ctx, k, d.Identity)
	if err != nil || u.GetUID() != live.GetUID() || u.GetDeletionTimestamp() != nil {
		return nil, rejection
	}
	patch, err := managedfields.Repair{
		Live: u, Desired: desired, Manager: managedfields.Rendering, Divided: divided,
		Causes: outcome.CausedFields(rejection), AcceptedBefore: decide.CarriesRendering(watch.NewUntrimmed(u), d),
	}.Patch()
	if patch == nil || err != nil {
		return nil, rejection
	}
	patched, err := a.Cluster.Writer(d.Child.Rule, a.Req, k, d.Identity.Namespace).Edit(ctx, d.Identity.Name, patch,
		managedfields.Rendering)
	if err != nil {
		return nil, decide.RepairError(err)
	}
	return watch.NewObject(patched, watch.Child), nil
}

// releaseOrphanedFields removes the managedFields entry of a manager that no
// longer exists from an object that we have just applied, see
// managedfields.ReleaseOrphanedFields. Otherwise a field would stay after the
// rule stops rendering it.
func (a *Applier) releaseOrphanedFields(ctx context.Context, writer access.Writer, name string) (*watch.Object, error) {
	ctx, cancel := context.WithTimeout(ctx, plan.WriteTimeout)
	defer cancel()
	for { // ctx limits the number of attempts.
		u, err := a.Cluster.Resource(writer.Kind, writer.Namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		patch, err := managedfields.ReleaseOrphanedFields(u)
		if err != nil {
			return nil, err
		}
		if patch != nil {
			u, err = writer.Edit(ctx, name, patch, managedfields.Applier{})
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

// removeDropped removes what the last write of an object has left in fields that have turned from
// atomic to granular. before has the fields that were ours before that write.
func (a *Applier) removeDropped(ctx context.Context, k ident.Kind, d *rules.Desired, w *access.Written,
	before managedfields.Entry) error {
	divided := w.Schema.Divided(a.View.Granular(d.Identity.GVK), before, w.Fields)
	if len(divided) == 0 {
		return nil
	}
	repaired, err := a.repairFields(ctx, k, d, w.Object, divided, nil)
	if repaired == nil || err != nil {
		return err
	}
	return a.write(ctx, k, d, w, repaired)
}
