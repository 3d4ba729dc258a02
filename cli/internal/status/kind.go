package status

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/cli/internal/cluster"
	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/rendered"
	"reconcel/engine/discover"
	"reconcel/engine/inventory"
	"reconcel/rules"
)

// A kind is a kind whose resources are reported.
type kind struct {
	gk                 schema.GroupKind
	version            string         // in the rules; "": any
	rules              []string       // names
	selects            []*rules.Rule  // nil if the kind comes from an inventory
	served             *discover.Kind // nil: the API server does not serve it, or unavailable says why that is unknown
	unavailable        error
	bundles            bool // its resources are the ConfigMaps of rules for the cluster
	targets            []cluster.Target
	*rendered.Reporter // nil if it is not served
}

// kindsOfProgram returns the kinds of primaries in the rules.
func kindsOfProgram(program *rules.Program) (all []*kind) {
	for _, p := range program.Primaries() {
		k := &kind{gk: p.GVK.GroupKind(), version: p.GVK.Version, selects: p.Rules}
		for _, r := range p.Rules {
			k.rules = append(k.rules, r.Name)
		}
		all = append(all, k)
	}
	return all
}

// kindsOfInventories returns the kinds of primaries in inventories. A former
// primary has no rules: its rule no longer selects it, but its finalizer may still
// hold it.
func kindsOfInventories(inventories ...map[inventory.Key]inventory.Entry) []*kind {
	found := map[schema.GroupKind]*kind{}
	for _, entries := range inventories {
		for _, key := range inventory.SortedKeys(entries) {
			entry := entries[key]
			if entry.Moved && !entry.Finalizer {
				continue
			}
			gk := entry.Primary()
			if found[gk] == nil {
				found[gk] = &kind{gk: gk}
			}
			if k := found[gk]; !entry.Moved && !slices.Contains(k.rules, key.Rule) {
				k.rules = append(k.rules, key.Rule)
			}
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b *kind) int {
		return cmp.Or(strings.Compare(a.gk.Group, b.gk.Group), strings.Compare(a.gk.Kind, b.gk.Kind))
	})
}

// find asks the API server for the kind, and how its resources report their state.
func (k *kind) find(ctx context.Context, kinds discover.Kinds) error {
	if k.bundles = k.gk == rules.BundleKind.GroupKind(); k.bundles {
		k.gk, k.version = rules.BundleObject.GroupKind(), rules.BundleObject.Version
	}
	find := func() (discover.Kind, error) { return kinds.Find(ctx, k.gk.WithVersion(k.version)) }
	if k.version == "" {
		find = func() (discover.Kind, error) { return discover.AnyVersion(ctx, kinds, k.gk) }
	}
	served, err := find()
	switch {
	case discover.IsNoKind(err):
		return nil
	case discover.IsUnavailable(err):
		k.unavailable = err
		return nil
	case err != nil:
		return err
	}
	k.served = &served
	k.Reporter, err = rendered.NewReporter(ctx, kinds, served)
	return err
}

// counts reports whether an object is a resource that was requested.
func (k *kind) counts(u *unstructured.Unstructured) bool {
	return k.isPrimary(u) && (len(k.targets) == 0 || k.isTarget("") || k.isTarget(u.GetName()))
}

// isPrimary reports whether a rule may be for an object, without evaluating
// expressions. An object with a finalizer of reconcel's always is.
func (k *kind) isPrimary(u *unstructured.Unstructured) bool {
	if k.bundles {
		return slices.Contains(k.rules, rules.BundleRule(u.Object))
	}
	if len(k.selects) == 0 || len(rendered.OwnFinalizers(u)) > 0 {
		return true
	}
	return slices.ContainsFunc(k.selects, func(r *rules.Rule) bool {
		return r.Follows(u.GetNamespace()) && r.Selector.Matches(labels.Set(u.GetLabels()))
	})
}

// isTarget reports whether a name was requested; "" is the whole kind.
func (k *kind) isTarget(name string) bool {
	return slices.ContainsFunc(k.targets, func(t cluster.Target) bool { return t.Name == name })
}

// options limits a list to the one requested resource.
func (k *kind) options() metav1.ListOptions {
	if k.bundles {
		return metav1.ListOptions{LabelSelector: rules.LabelBundle}
	}
	if len(k.targets) == 1 && k.targets[0].Name != "" {
		return metav1.ListOptions{FieldSelector: "metadata.name=" + k.targets[0].Name}
	}
	return metav1.ListOptions{}
}

// targeted returns the requested kinds, each with its targets.
func targeted(all []*kind, targets []cluster.Target) (asked []*kind, err error) {
	if len(targets) == 0 {
		return all, nil
	}
	known := map[cluster.Target]bool{}
	for _, k := range all {
		for _, t := range targets {
			if t.IsOf(k.gk.WithVersion(k.version), k.served) {
				k.targets, known[t] = append(k.targets, t), true
			}
		}
		if len(k.targets) > 0 {
			asked = append(asked, k)
		}
	}
	for _, t := range targets {
		if !known[t] {
			return nil, exit.Misused("%q: no rule is for that kind", t.Text)
		}
	}
	return asked, nil
}
