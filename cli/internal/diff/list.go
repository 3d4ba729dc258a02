package diff

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/engine/discover"
	"reconcel/engine/inventory"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// list is an engine.Lister: it lists what a preview reads, each kind once. It reads only the
// namespaces that the selected primaries need: the user may not be allowed to read
// others.
func (c *comparison) list(ctx context.Context, role watch.Role, k discover.Kind,
	visit func(*unstructured.Unstructured) error) error {
	var namespaces []string
	var options metav1.ListOptions
	for _, s := range c.selected {
		switch role {
		case watch.Primary:
			for _, u := range s.objects {
				if s.kind != k {
					break
				}
				if err := visit(u); err != nil {
					return err
				}
			}
		case watch.Child:
			options.LabelSelector = rules.LabelRule
			namespaces = append(namespaces, c.ofChildren(s, k)...)
		case watch.Lookup:
			namespaces = append(namespaces, c.ofLookups(s, k)...)
		}
	}
	return c.Each(ctx, c.client.Known, k, namespaces, options, visit)
}

// ofChildren returns the namespaces with children of selected primaries.
func (c *comparison) ofChildren(s selected, k discover.Kind) []string {
	switch {
	case !c.mayHaveCreated(s.rules, k):
		return nil
	case s.rules.ForCluster() || !s.kind.Namespaced || slices.ContainsFunc(s.rules.Rules, (*rules.Rule).MayNeedFinalizer):
		return []string{metav1.NamespaceAll} // The children may be in other namespaces.
	}
	return []string{c.Namespace}
}

// mayHaveCreated reports whether the rules of a primary render a kind, or have done so in the past.
func (c *comparison) mayHaveCreated(primary *rules.Primary, k discover.Kind) bool {
	return slices.ContainsFunc(primary.Rules, func(r *rules.Rule) bool {
		return slices.ContainsFunc(slices.Concat(r.ChildKinds(), c.left.Kinds[inventory.KeyOf(r)]),
			func(gvk schema.GroupVersionKind) bool { return gvk.GroupKind() == k.GVK.GroupKind() })
	})
}

// ofLookups returns the namespaces in which the rules of selected primaries look up a kind.
func (c *comparison) ofLookups(s selected, k discover.Kind) (namespaces []string) {
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
	return namespaces
}
