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

// cleanedUp returns the primary of a write: the owner of a child, or the written object itself.
func cleanedUp(ctx context.Context, kinds discover.Kinds, w *written) *Primary {
	u := w.object()
	if owner, ofChild := ownerOf(w, u); ofChild {
		if k, err := discover.AnyVersion(ctx, kinds, owner.Kind); err == nil && !k.Namespaced {
			owner.Namespace = ""
		}
		return PrimaryOf(&rules.Primary{}, discover.Kind{GVK: owner.Kind.WithVersion(versionOf(u, owner.UID))}, owner)
	}
	gvk := u.GroupVersionKind()
	return PrimaryOf(&rules.Primary{}, discover.Kind{GVK: gvk, GVR: w.last.Resource},
		ident.Request{Kind: gvk.GroupKind(), Namespace: w.last.Namespace, Name: w.last.Name, UID: u.GetUID()})
}

// ownerOf returns the owner of a child that is deleted, or from which the owner's part is removed.
func ownerOf(w *written, u *unstructured.Unstructured) (owner rules.Owner, ofChild bool) {
	if uid, _, found := shareSent(w.last); found && w.last.Before != nil {
		part, _ := rules.ShareOf(w.last.Before.Object, uid)
		return part.Owner, true
	}
	owner, owned := rules.OwnerOf(u.Object)
	if shares := rules.SharesOf(u.Object); !owned && len(shares) > 0 {
		owner = shares[0].Owner
	}
	return owner, w.last.Deletes()
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
