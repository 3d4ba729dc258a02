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

// statusPredatesSchema is predatesSchema for the primary's status. If that is not rendered yet, empty maps
// count.
func (s *statusDraft) statusPredatesSchema(rendered map[string]any) bool {
	last, g := &s.memory.status, s.cache.Granular()
	if g == last.granular {
		return false
	}
	whole := g.Whole(s.self.Fields())
	if rendered != nil && last.granular == nil {
		whole = managedfields.Filled(whole, map[string]any{"status": rendered})
	}
	if len(whole) == 0 {
		last.granular = g
	}
	return len(whole) > 0
}

// patchPredatesSchema is predatesSchema for a patch of the primary.
func (p *pass) patchPredatesSchema(by patcher, w *writtenPatch, desired map[string]any) bool {
	g := p.cache.Granular()
	if g == w.granular {
		return false
	}
	whole := g.Whole(by.owned(p.self))
	if desired != nil && w.granular == nil {
		whole = managedfields.Filled(whole, desired)
	}
	if len(whole) == 0 {
		w.granular = g
	}
	return len(whole) > 0
}

// removeDropped removes what the last write of an object has left in fields that have turned from
// atomic to granular. before has the fields that were ours before that write, and checked the granular
// fields by which they were checked.
func (p *pass) removeDropped(ctx context.Context, k Kind, d *rules.Desired, w *written, before managedfields.Entry, checked *managedfields.Granular) error {
	g := p.granular(d.Identity.GVK)
	divided := dividedBy(g, checked, before, w.fields)
	w.granular = writtenBy(g)
	if len(divided) == 0 {
		return nil
	}
	repaired, err := p.repairFields(ctx, k, d, w.object, divided, nil)
	if repaired == nil || err != nil {
		return err
	}
	err = p.write(ctx, k, d, w, repaired)
	w.granular = writtenBy(g)
	return err
}

// unread stands for granular fields that are not known yet.
var unread = &managedfields.Granular{}

// writtenBy returns what to remember of the granular fields at the time of a write: once they are known,
// they are others.
func writtenBy(g *managedfields.Granular) *managedfields.Granular { return cmp.Or(g, unread) }

// dividedBy returns the fields that were ours as a whole before an apply and may have been divided by it.
// An empty map is owned in the same way before and after, and may have the defaults of its schema: it counts
// once for each schema.
func dividedBy(g, checked *managedfields.Granular, before, after managedfields.Entry) []fieldpath.Path {
	divided := managedfields.Divided(before, after)
	if g != checked {
		divided = append(divided, g.Whole(after)...)
	}
	return divided
}

// repairPrimary is repairFields for a patch or the status of the primary. It reports whether it has changed
// anything, so that the same apply follows.
func (p *pass) repairPrimary(ctx context.Context, by managedfields.Applier, desired map[string]any, divided []fieldpath.Path, rejection error) (bool, error) {
	causes := causedFields(rejection)
	if len(divided)+len(causes) == 0 {
		return false, rejection
	}
	live, err := p.readPrimary(ctx)
	if live == nil || err != nil {
		return false, errors.Join(rejection, err)
	}
	patch, err := managedfields.Repair{Live: live, Desired: desired, Manager: by, Divided: divided, Causes: causes}.Patch()
	if patch == nil || err != nil {
		return false, errors.Join(rejection, err)
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	_, err = p.engine.sender.Send(ctx, nil, watch.Patch{
		Kind: p.cache.Kind(), Namespace: p.req.Namespace, Name: p.req.Name, Subresource: by.Subresource, Type: types.JSONPatchType, Body: patch, Manager: by.Name,
	})
	if apierrors.IsInvalid(err) || apierrors.IsConflict(err) {
		return false, errStale // A test of the patch failed: another writer changed the primary.
	}
	return err == nil, err
}
