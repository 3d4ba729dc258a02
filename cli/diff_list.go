package cli

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/engine/discover"
	"reconcel/rules"
)

// A diffLister lists what a preview reads, each kind once. It reads only the
// namespaces that the chosen primaries need: the user may not be allowed to read
// others.
type diffLister struct {
	differ *differ
	chosen []*primaryDiff
}

// Primaries implements engine.Lister.
func (l *diffLister) Primaries(_ context.Context, k discover.Kind) (all []*unstructured.Unstructured, err error) {
	for _, p := range l.chosen {
		if p.kind == k {
			all = append(all, p.self)
		}
	}
	return all, nil
}

// Children implements engine.Lister.
func (l *diffLister) Children(ctx context.Context, k discover.Kind) ([]*unstructured.Unstructured, error) {
	var namespaces []string
	for primary, kind := range l.kinds() {
		if !l.mayHaveMade(primary, k) {
			continue
		}
		if !kind.Namespaced || slices.ContainsFunc(primary.Rules, (*rules.Rule).MayNeedFinalizer) {
			namespaces = append(namespaces, metav1.NamespaceAll) // The children may be in other namespaces.
			continue
		}
		namespaces = append(namespaces, l.differ.namespace)
	}
	return l.differ.list(ctx, k, namespaces, metav1.ListOptions{LabelSelector: rules.LabelRule})
}

// mayHaveMade reports whether the rules of a primary render a kind, or may have
// done so in the past. The past is unknown for a kind that no active rule renders.
func (l *diffLister) mayHaveMade(primary *rules.Primary, k discover.Kind) bool {
	renders := func(p *rules.Primary) bool {
		return slices.ContainsFunc(p.Rules, func(r *rules.Rule) bool {
			return slices.ContainsFunc(r.Children, func(c *rules.Child) bool { return c.GVK == k.GVK })
		})
	}
	return renders(primary) || !slices.ContainsFunc(l.differ.loaded.Program.Primaries(), renders)
}

// Lookups implements engine.Lister.
func (l *diffLister) Lookups(ctx context.Context, k discover.Kind) ([]*unstructured.Unstructured, error) {
	var namespaces []string
	for primary, kind := range l.kinds() {
		for _, r := range primary.Rules {
			for _, lookup := range r.Lookups {
				if lookup.GVK != k.GVK {
					continue
				}
				at := r.LookupNamespace(lookup)
				if at.OfPrimary && kind.Namespaced {
					at.Name = l.differ.namespace
				}
				namespaces = append(namespaces, at.Name)
			}
		}
	}
	return l.differ.list(ctx, k, namespaces, metav1.ListOptions{})
}

func (l *diffLister) kinds() map[*rules.Primary]discover.Kind {
	kinds := map[*rules.Primary]discover.Kind{}
	for _, p := range l.chosen {
		kinds[p.primary] = p.kind
	}
	return kinds
}

// list lists a kind in some namespaces. NamespaceAll stands for all namespaces of
// the policy.
func (d *differ) list(ctx context.Context, k discover.Kind, namespaces []string, options metav1.ListOptions) (all []*unstructured.Unstructured, err error) {
	everywhere := []string{metav1.NamespaceAll}
	if !k.Namespaced && len(namespaces) > 0 {
		namespaces = everywhere
	} else if slices.Contains(namespaces, metav1.NamespaceAll) {
		if namespaces = everywhere; len(d.policy.Namespaces) > 0 {
			namespaces = slices.Clone(d.policy.Namespaces)
		}
	}
	slices.Sort(namespaces)
	for _, namespace := range slices.Compact(namespaces) {
		list, err := d.cluster.List(ctx, k.GVR, namespace, options)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	return all, nil
}
