package engine

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"reconcel/engine/answer"
	"reconcel/engine/managedfields"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// outdatedReference reports whether the owner reference of an object that is not applied any more names
// another version of the primary's kind. When the API server no longer has that version, the garbage
// collector cannot find the primary, and the object stays when the primary is deleted.
func (p *pass) outdatedReference(d *rules.Desired, live *watch.Object) bool {
	if live == nil || !keepsExisting(d.Child) || p.leaves(live) {
		return false
	}
	version := live.ControllerVersion()
	return version != "" && live.OwnerUID() == p.req.UID && version != p.cache.Kind().GVK.GroupVersion().String()
}

// renewReference writes the version of the primary's kind into the owner reference of an object, and
// nothing else.
func (p *pass) renewReference(ctx context.Context, k Kind, d *rules.Desired, w *written) error {
	u, err := p.get(ctx, k, d.Identity)
	if answer.IsAbsent(err) {
		return errStale
	}
	if err != nil {
		return err
	}
	for i, ref := range u.GetOwnerReferences() {
		if ref.UID != p.req.UID {
			continue
		}
		at := fmt.Sprintf("/metadata/ownerReferences/%d/", i)
		patch, err := json.Marshal([]map[string]any{
			{"op": "test", "path": at + "uid", "value": ref.UID},
			{"op": "replace", "path": at + "apiVersion", "value": p.cache.Kind().GVK.GroupVersion().String()},
		})
		if err != nil {
			return err
		}
		u, err = p.engine.writer(d.Child.Rule, p.req, k, d.Identity.Namespace).edit(ctx, d.Identity.Name, patch, managedfields.Manager)
		if apierrors.IsInvalid(err) || apierrors.IsConflict(err) || answer.IsAbsent(err) {
			return errStale // Another writer changed the object.
		}
		if err != nil {
			return classifyAnswer(err)
		}
		w.object, w.version = watch.NewObject(u, watch.Child), u.GetResourceVersion()
		return nil
	}
	return errStale
}
