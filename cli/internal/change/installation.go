package change

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/cli/internal/exit"
	"reconcel/engine/inventory"
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
	var names []string
	for _, stored := range all {
		names = append(names, nameOf(stored))
	}
	if of.Named != "" {
		all = slices.DeleteFunc(all, func(stored inventory.Stored) bool { return nameOf(stored) != of.Named })
	}
	runs := func(stored inventory.Stored) bool { return runsAny(stored, rulesOf(programs)) }
	if i := slices.IndexFunc(all, runs); i >= 0 && !slices.ContainsFunc(all[i+1:], runs) {
		return all[i], nil
	}
	switch {
	case len(all) > 1:
		return inventory.Stored{}, exit.Misused("there are several installations: choose one with --installation: %s",
			strings.Join(names, ", "))
	case len(all) == 1:
		return all[0], nil
	case of.Named != "":
		return inventory.Stored{}, exit.Failure(
			fmt.Errorf("installation %s not found: there is no ConfigMap with its inventory", of.Named))
	}
	return s.withoutInventory(ctx, of, rulesOf(programs)), nil
}

func nameOf(stored inventory.Stored) string { return stored.Namespace + "/" + stored.Installation }

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
