package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/cli/internal/cluster"
	"reconcel/cli/internal/exit"
	"reconcel/engine/discover"
	"reconcel/engine/inventory"
	"reconcel/rules"
	kindschema "reconcel/rules/schema"
)

// A statusKind is a kind whose resources status reports.
type statusKind struct {
	gk      schema.GroupKind
	version string         // in the rules; "": any
	rules   []string       // names
	selects []*rules.Rule  // nil if the kind comes from an inventory
	kind    *discover.Kind // nil: the API server does not serve it
	reports conditionsOfKind
	targets []cluster.Target // requested resources; none: all
}

// kindsOfProgram returns the kinds of primaries in the rules.
func kindsOfProgram(program *rules.Program) (all []*statusKind) {
	for _, p := range program.Primaries() {
		k := &statusKind{gk: p.GVK.GroupKind(), version: p.GVK.Version, selects: p.Rules}
		for _, r := range p.Rules {
			k.rules = append(k.rules, r.Name)
		}
		all = append(all, k)
	}
	return all
}

// kindsByName collects the kinds of inventories.
type kindsByName map[schema.GroupKind]*statusKind

func (kinds kindsByName) addInventory(entries map[string]inventory.Entry) {
	for _, rule := range slices.Sorted(maps.Keys(entries)) {
		entry := entries[rule]
		if k := kinds.add(entry.Primary()); !slices.Contains(k.rules, rule) {
			k.rules = append(k.rules, rule)
		}
		for _, former := range entry.FormerPrimaries() {
			kinds.add(former) // The rule no longer selects these primaries, but its finalizer may still hold them.
		}
	}
}

func (kinds kindsByName) add(gk schema.GroupKind) *statusKind {
	if kinds[gk] == nil {
		kinds[gk] = &statusKind{gk: gk}
	}
	return kinds[gk]
}

func (kinds kindsByName) sorted() []*statusKind {
	return slices.SortedFunc(maps.Values(kinds), func(a, b *statusKind) int {
		return cmp.Or(strings.Compare(a.gk.Group, b.gk.Group), strings.Compare(a.gk.Kind, b.gk.Kind))
	})
}

// find asks the API server for the kind, and whether it has conditions.
func (k *statusKind) find(ctx context.Context, live *cluster.Cluster) error {
	versions := []string{k.version}
	if k.version == "" {
		var err error
		if versions, err = live.Kinds.Versions(ctx, k.gk.Group); err != nil {
			return err
		}
	}
	for _, v := range versions {
		found, err := live.Find(ctx, k.gk.WithVersion(v))
		if err != nil {
			return err
		}
		if found != nil {
			k.kind = found
			return k.findConditions(ctx, live)
		}
	}
	return nil
}

// findConditions reads whether reconcel writes conditions into the kind. It never
// does so for a kind of Kubernetes itself.
func (k *statusKind) findConditions(ctx context.Context, live *cluster.Cluster) error {
	if kindschema.BuiltInGroup(k.gk.Group) {
		return nil
	}
	list, err := live.Kinds.Conditions(ctx, k.kind.GVK)
	if err != nil {
		return fmt.Errorf("read the schema of %s: %w", k.gk, err)
	}
	if list != discover.NoConditions {
		k.reports = withConditions
	}
	return nil
}

// isPrimary reports whether a rule may be for an object, without evaluating
// expressions. An object with a finalizer of reconcel's always counts.
func (k *statusKind) isPrimary(u *unstructured.Unstructured) bool {
	if len(k.selects) == 0 || len(reconcelFinalizers(u)) > 0 {
		return true
	}
	return slices.ContainsFunc(k.selects, func(r *rules.Rule) bool {
		return r.Follows(u.GetNamespace()) && r.Selector.Matches(labels.Set(u.GetLabels()))
	})
}

// wants reports whether an object is requested, by name or by kind.
func (k *statusKind) wants(name string) bool {
	return len(k.targets) == 0 || slices.ContainsFunc(k.targets, func(t cluster.Target) bool { return t.Name == "" || t.Name == name })
}

// names reports whether an object is requested by name.
func (k *statusKind) names(name string) bool {
	return slices.ContainsFunc(k.targets, func(t cluster.Target) bool { return t.Name == name })
}

// targeted returns the requested kinds, each with its requested names.
func targeted(all []*statusKind, targets []cluster.Target) (asked []*statusKind, err error) {
	if len(targets) == 0 {
		return all, nil
	}
	known := map[cluster.Target]bool{}
	for _, k := range all {
		for _, t := range targets {
			if t.IsOf(k.gk.WithVersion(k.version), k.kind) {
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
