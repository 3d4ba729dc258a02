package change

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/cli/internal/dryrun"
	"reconcel/engine/discover"
	"reconcel/engine/ident"
	"reconcel/engine/outcome"
	"reconcel/rules"
)

// OfCleanup returns the changes of a cleanup after removed rules, which needs no
// reconciliation, as those of one primary.
func OfCleanup(ctx context.Context, kinds discover.Kinds, recorder *dryrun.Recorder) *Primary {
	all := &Primary{}
	for _, w := range writtenObjects(recorder.Writes()) {
		p := cleanedUp(ctx, kinds, w)
		p.add(w)
		for _, c := range p.Changes {
			if c.Action == outcome.Deleted {
				c.Reason = "its rule is removed"
			}
			all.Changes = append(all.Changes, c)
		}
		all.Errs = append(all.Errs, p.Errs...)
	}
	all.Errs = append(all.Errs, recorder.Unread()...)
	return all
}

// cleanedUp returns the primary of a write: the owner of a deleted object, or the written
// object itself.
func cleanedUp(ctx context.Context, kinds discover.Kinds, w *written) *Primary {
	u := w.object()
	if w.last.Deletes() {
		owner, _ := rules.OwnerOf(u.Object)
		if k, err := discover.AnyVersion(ctx, kinds, owner.Kind); err == nil && !k.Namespaced {
			owner.Namespace = ""
		}
		return PrimaryOf(&rules.Primary{}, discover.Kind{GVK: owner.Kind.WithVersion(versionOf(u, owner.UID))}, owner)
	}
	gvk := u.GroupVersionKind()
	return PrimaryOf(&rules.Primary{}, discover.Kind{GVK: gvk, GVR: w.last.Resource},
		ident.Request{Kind: gvk.GroupKind(), Namespace: w.last.Namespace, Name: w.last.Name, UID: u.GetUID()})
}

// versionOf returns the API version in which an object names its owner, or "".
func versionOf(u *unstructured.Unstructured, owner types.UID) string {
	for _, ref := range u.GetOwnerReferences() {
		if ref.UID == owner {
			return schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).Version
		}
	}
	return ""
}
