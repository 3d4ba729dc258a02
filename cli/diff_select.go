package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"reconcel/cli/internal/cluster"
	"reconcel/cli/internal/dryrun"
	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/judge"
	"reconcel/engine"
	"reconcel/engine/discover"
	"reconcel/engine/inventory"
	"reconcel/rules"
)

// A differ compares the rules with a cluster.
type differ struct {
	loaded    *rules.Loaded
	policy    judge.Policy
	live      *cluster.Cluster
	cluster   *dryrun.Cluster
	namespace string // "": all
	selector  labels.Selector
	names     []cluster.Target // none: all
	preview   *engine.Preview
	local     bool // without dry runs
	notes     []string
}

// asks reports whether diff sends dry runs to the API server.
func (d *differ) asks() bool { return !d.local }

func (d *differ) tell(format string, args ...any) {
	d.notes = append(d.notes, fmt.Sprintf(format, args...))
}

// selectPrimaries returns the resources to compare, in the order of the rules, then
// by name.
func (d *differ) selectPrimaries(ctx context.Context) ([]*primaryDiff, error) {
	var all []*primaryDiff
	found, known := map[cluster.Target]bool{}, map[cluster.Target]bool{}
	for _, primary := range d.loaded.Program.Primaries() {
		k, err := d.live.Find(ctx, primary.GVK)
		if err != nil {
			return nil, err
		}
		names := d.namesOf(primary, k)
		if len(d.names) > 0 && len(names) == 0 {
			continue
		}
		for _, n := range names {
			known[n] = true
		}
		if k == nil {
			d.tell("the API server does not serve %s, kind %s: there is nothing to compare", primary.GVK.GroupVersion(), primary.GVK.Kind)
			continue
		}
		list, err := d.primaries(ctx, k, names)
		if err != nil {
			return nil, err
		}
		for _, self := range list {
			for _, n := range names {
				found[n] = found[n] || n.Name == self.GetName()
			}
			all = append(all, &primaryDiff{differ: d, primary: primary, kind: *k, self: self})
		}
	}
	for _, n := range d.names {
		switch {
		case !known[n]:
			return nil, exit.Misused("%q: no rule is for that kind", n.Text)
		case !found[n]:
			return nil, fmt.Errorf("%s not found%s", n.Text, d.where())
		}
	}
	return all, nil
}

func (d *differ) where() string {
	where := ""
	if d.namespace != "" {
		where += " in namespace " + d.namespace
	}
	if !d.selector.Empty() {
		where += " with labels " + d.selector.String()
	}
	return where
}

func (d *differ) namesOf(primary *rules.Primary, k *discover.Kind) (names []cluster.Target) {
	for _, n := range d.names {
		if n.IsOf(primary.GVK, k) {
			names = append(names, n)
		}
	}
	return names
}

// primaries lists the resources of one kind, including those that no rule selects
// now: a rule may have selected them before.
func (d *differ) primaries(ctx context.Context, k *discover.Kind, names []cluster.Target) ([]*unstructured.Unstructured, error) {
	options := metav1.ListOptions{LabelSelector: d.selector.String()}
	if len(names) == 1 {
		options.FieldSelector = "metadata.name=" + names[0].Name
	}
	list, err := d.list(ctx, *k, []string{d.namespace}, options)
	if err != nil {
		return nil, err
	}
	if len(names) > 0 {
		list = slices.DeleteFunc(list, func(u *unstructured.Unstructured) bool {
			return !slices.ContainsFunc(names, func(n cluster.Target) bool { return n.Name == u.GetName() })
		})
	}
	slices.SortFunc(list, byNamespacedName)
	return list, nil
}

func byNamespacedName(a, b *unstructured.Unstructured) int {
	return cmp.Or(strings.Compare(a.GetNamespace(), b.GetNamespace()), strings.Compare(a.GetName(), b.GetName()))
}

// addInventories adds the inventories of the cluster: run prunes the children of
// kinds that a rule no longer renders. The user may not be allowed to read them.
// The preview acts as the installation of the first inventory.
func (d *differ) addInventories(ctx context.Context, of *engine.PreviewOf) error {
	list, err := d.cluster.List(ctx, inventory.Resource, "", metav1.ListOptions{LabelSelector: inventory.Selector})
	if apierrors.IsForbidden(err) {
		d.tell("reconcel's inventory cannot be read: children of kinds that a rule no longer has are not compared")
		return nil
	}
	if err != nil {
		return err
	}
	for _, u := range list {
		stored, ok := inventory.Of(u)
		if !ok {
			continue
		}
		of.Inventories = append(of.Inventories, stored)
		if len(of.Inventories) == 1 {
			of.Namespace, of.Name = stored.Namespace, stored.Installation
		}
	}
	return nil
}
