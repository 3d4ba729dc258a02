package change

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/cli/internal/dryrun"
	"reconcel/cli/internal/exit"
	"reconcel/engine/discover"
	"reconcel/engine/ident"
	"reconcel/engine/inventory"
	"reconcel/engine/outcome"
	"reconcel/rules"
)

// An Installation says whose rules are compared.
type Installation struct {
	Named string // namespace/name; "": the cluster shows it
	Home  string // the namespace of an installation that the cluster does not show
	// Namespace is where to look for its objects if its inventory cannot be read; "": all namespaces.
	Namespace string
}

// Inventory returns the inventory of the installation that runs the rules of some programs. If it cannot
// be read, it is empty.
func (s *Source) Inventory(ctx context.Context, of Installation, programs ...*rules.Program) (inventory.Stored, error) {
	all, err := s.Cluster.Inventories(ctx)
	switch {
	case apierrors.IsForbidden(err):
		s.Note("reconcel's inventory cannot be read: it is unknown what rules no longer have, and which changes run holds")
		return s.withoutInventory(ctx, of, rulesOf(programs)), nil
	case err != nil:
		return inventory.Stored{}, fmt.Errorf("list inventories: %w", err)
	}
	names := inventory.Names(all)
	if of.Named != "" {
		all = slices.DeleteFunc(all, func(stored inventory.Stored) bool { return stored.Name() != of.Named })
	}
	runs := func(stored inventory.Stored) bool { return runsAny(stored, rulesOf(programs)) }
	if i := slices.IndexFunc(all, runs); i >= 0 && !slices.ContainsFunc(all[i+1:], runs) {
		return all[i], nil
	}
	switch {
	case len(all) > 1:
		return inventory.Stored{}, exit.Misused("there are several installations: choose one with --installation: %s",
			names)
	case len(all) == 1:
		return all[0], nil
	case of.Named != "":
		return inventory.Stored{}, exit.Failure(
			fmt.Errorf("installation %s not found: there is no ConfigMap with its inventory; those that exist: %s", of.Named,
				cmp.Or(names, "none")))
	}
	return s.withoutInventory(ctx, of, rulesOf(programs)), nil
}

func rulesOf(programs []*rules.Program) (all []*rules.Rule) {
	for _, program := range programs {
		for _, primary := range program.Primaries() {
			all = append(all, primary.Rules...)
		}
	}
	return all
}

// runsAny reports whether an installation runs one of some rules, in whatever version. A damaged entry is told later.
func runsAny(stored inventory.Stored, all []*rules.Rule) bool {
	entries, _ := stored.Entries()
	return slices.ContainsFunc(all, func(r *rules.Rule) bool { return entries[inventory.KeyOf(r)].Digest != "" })
}

// withoutInventory returns an empty inventory for the installation that a child of the rules names.
func (s *Source) withoutInventory(ctx context.Context, of Installation, all []*rules.Rule) inventory.Stored {
	mark := of.Named
	for _, r := range all {
		for _, gvk := range r.ChildKinds() {
			if mark == "" {
				mark = s.markOf(ctx, of.Namespace, r.Name, gvk)
			}
		}
	}
	namespace, name, _ := strings.Cut(mark, "/")
	return inventory.Stored{Namespace: cmp.Or(namespace, of.Home), Installation: cmp.Or(name, "reconcel")}
}

// markOf returns the installation in the annotation of some child of a rule, or "".
func (s *Source) markOf(ctx context.Context, namespace, rule string, gvk schema.GroupVersionKind) string {
	k, err := s.Cluster.Find(ctx, gvk)
	if k == nil || err != nil {
		return ""
	}
	for _, namespace := range s.namespaces(k, []string{namespace}) {
		page, err := s.Cluster.Resource(k, namespace).List(ctx,
			metav1.ListOptions{LabelSelector: rules.LabelRule + "=" + rule, Limit: 1})
		if err == nil && len(page.Items) > 0 {
			return page.Items[0].GetAnnotations()[rules.AnnotationInstallation]
		}
	}
	return ""
}

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
