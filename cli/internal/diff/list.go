package diff

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/cli/internal/cluster"
	"reconcel/engine/discover"
	"reconcel/rules"
)

// The comparison lists what a preview reads, each kind once. It reads only the
// namespaces that the selected primaries need: the user may not be allowed to read
// others.

// Primaries implements engine.Lister.
func (c *comparison) Primaries(_ context.Context, k discover.Kind, visit func(*unstructured.Unstructured) error) error {
	for _, s := range c.selected {
		if s.kind != k {
			continue
		}
		for _, u := range s.objects {
			if err := visit(u); err != nil {
				return err
			}
		}
	}
	return nil
}

// Children implements engine.Lister.
func (c *comparison) Children(ctx context.Context, k discover.Kind, visit func(*unstructured.Unstructured) error) error {
	var namespaces []string
	for _, s := range c.selected {
		switch {
		case !c.mayHaveCreated(s.rules, k):
		case s.rules.ForCluster() || !s.kind.Namespaced || slices.ContainsFunc(s.rules.Rules, (*rules.Rule).MayNeedFinalizer):
			namespaces = append(namespaces, metav1.NamespaceAll) // The children may be in other namespaces.
		default:
			namespaces = append(namespaces, c.Namespace)
		}
	}
	return c.each(ctx, k, namespaces, metav1.ListOptions{LabelSelector: rules.LabelRule}, visit)
}

// mayHaveCreated reports whether the rules of a primary render a kind, or may have
// done so in the past. The past is unknown for a kind that no active rule renders.
func (c *comparison) mayHaveCreated(primary *rules.Primary, k discover.Kind) bool {
	renders := func(p *rules.Primary) bool {
		return slices.ContainsFunc(p.Rules, func(r *rules.Rule) bool {
			return slices.ContainsFunc(r.Children, func(c *rules.Child) bool { return c.GVK == k.GVK })
		})
	}
	return renders(primary) || !slices.ContainsFunc(c.Rules.Program.Primaries(), renders)
}

// Lookups implements engine.Lister.
func (c *comparison) Lookups(ctx context.Context, k discover.Kind, visit func(*unstructured.Unstructured) error) error {
	var namespaces []string
	for _, s := range c.selected {
		for _, r := range s.rules.Rules {
			for _, lookup := range r.Lookups {
				if lookup.GVK != k.GVK {
					continue
				}
				at := r.LookupNamespace(lookup)
				if at.OfPrimary && s.kind.Namespaced {
					at.Name = c.Namespace
				}
				namespaces = append(namespaces, at.Name)
			}
		}
	}
	return c.each(ctx, k, namespaces, metav1.ListOptions{}, visit)
}

// list returns the objects of a kind in some namespaces.
func (c *comparison) list(ctx context.Context, k discover.Kind, namespaces []string, options metav1.ListOptions) (all []*unstructured.Unstructured, err error) {
	err = c.each(ctx, k, namespaces, options, func(u *unstructured.Unstructured) error {
		all = append(all, u)
		return nil
	})
	return all, err
}

// each visits the objects of a kind in some namespaces. NamespaceAll stands for all
// namespaces of the policy.
func (c *comparison) each(ctx context.Context, k discover.Kind, namespaces []string, options metav1.ListOptions, visit func(*unstructured.Unstructured) error) error {
	everywhere := []string{metav1.NamespaceAll}
	if !k.Namespaced && len(namespaces) > 0 {
		namespaces = everywhere
	} else if slices.Contains(namespaces, metav1.NamespaceAll) {
		if namespaces = everywhere; len(c.Policy.Namespaces) > 0 {
			namespaces = slices.Clone(c.Policy.Namespaces)
		}
	}
	slices.Sort(namespaces)
	for _, namespace := range slices.Compact(namespaces) {
		if err := c.eachIn(ctx, k.GVR, namespace, options, visit); err != nil {
			return err
		}
	}
	return nil
}

// eachIn visits the objects of a kind in one namespace, or in all with NamespaceAll.
func (c *comparison) eachIn(ctx context.Context, gvr schema.GroupVersionResource, namespace string, options metav1.ListOptions, visit func(*unstructured.Unstructured) error) error {
	var failed error
	err := cluster.ForEach(ctx, c.client.Known(gvr, namespace), options, func(u *unstructured.Unstructured) {
		if failed == nil {
			failed = visit(u)
		}
	})
	if err != nil {
		return fmt.Errorf("list %s: %w", gvr.Resource, err)
	}
	return failed
}
