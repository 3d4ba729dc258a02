package engine

import (
	"cmp"
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"reconcel/engine/managedfields"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// A field of a custom kind may turn from atomic to granular. Until our next apply, our entry of
// managedFields has the whole field, and the API server does not change the entry when another writer
// changes what is in the field. And what that apply drops from the field has no owner, so that it stays.
// So each such object is applied once after the schema has changed, and what is left is removed.

// divided returns the fields that were ours as a whole before an apply and that it may have divided. An empty
// map is owned in the same way before and after, and may have the defaults of its schema: it counts once for
// each schema.
func (c *checkedSchema) divided(g *managedfields.Granular, before, after managedfields.Entry) []fieldpath.Path {
	divided := managedfields.Divided(before, after)
	if g != c.granular {
		divided = append(divided, g.Whole(after)...)
	}
	c.granular = cmp.Or(g, unread)
	return divided
}

// removeDropped removes what the last write of an object has left in fields that have turned from
// atomic to granular. before has the fields that were ours before that write.
func (p *pass) removeDropped(ctx context.Context, k Kind, d *rules.Desired, w *written, before managedfields.Entry) error {
	divided := w.schema.divided(p.granular(d.Identity.GVK), before, w.fields)
	if len(divided) == 0 {
		return nil
	}
	repaired, err := p.repairFields(ctx, k, d, w.object, divided, nil)
	if repaired == nil || err != nil {
		return err
	}
	return p.write(ctx, k, d, w, repaired)
}

// removeLeft removes what an apply to the primary, a patch or the status, has left or makes null. It reports
// whether it has removed anything, so that the same apply follows.
func (p *pass) removeLeft(ctx context.Context, by managedfields.Applier, desired map[string]any, divided []fieldpath.Path, rejection error) (bool, error) {
	causes := causedFields(rejection)
	if len(divided)+len(causes) == 0 {
		return false, rejection
	}
	live, err := p.readPrimary(ctx)
	if live == nil || err != nil {
		return false, errors.Join(rejection, err)
	}
	patch, err := managedfields.Repair{Live: live, Desired: desired, Manager: by, Divided: divided, Causes: causes}.RemoveLeftovers()
	if patch == nil || err != nil {
		return false, errors.Join(rejection, err)
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	_, err = p.engine.sender.Send(ctx, nil, watch.Patch{
		Kind: p.cache.Kind(), Namespace: p.req.Namespace, Name: p.req.Name, Subresource: by.Subresource, Type: types.JSONPatchType, Body: patch, Manager: by.Name,
	})
	return err == nil, repairError(err)
}

// repairError returns the error of the patch that repairs an object.
func repairError(err error) error {
	if apierrors.IsConflict(err) || apierrors.IsInvalid(err) && len(causedFields(err)) == 0 {
		return errStale // A test of the patch failed: another writer changed the object.
	}
	return err
}
