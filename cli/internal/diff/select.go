package diff

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/cli/internal/cluster"
	"reconcel/cli/internal/exit"
	"reconcel/engine"
	"reconcel/engine/discover"
	"reconcel/rules"
)

// selected are the primaries of one kind to compare.
type selected struct {
	rules   *rules.Primary
	kind    discover.Kind
	objects []*unstructured.Unstructured
}

// selectPrimaries selects the primaries to compare, in the order of the rules, then
// by name. It reports whether there is anything to compare, bundles included.
func (c *comparison) selectPrimaries(ctx context.Context) (some bool, err error) {
	found, known := map[cluster.Target]bool{}, map[cluster.Target]bool{}
	var unknown error // why a kind and its other names are not known
	for _, p := range c.Rules.Program.Primaries() {
		if p.ForCluster() {
			continue // addBundles adds them.
		}
		k, err := c.Cluster.Find(ctx, p.GVK)
		unavailable := discover.IsUnavailable(err)
		if err != nil && !unavailable {
			return false, err
		}
		names := slices.DeleteFunc(slices.Clone(c.Targets), func(n cluster.Target) bool { return !n.IsOf(p.GVK, k) })
		if len(c.Targets) > 0 && len(names) == 0 {
			unknown = cmp.Or(unknown, err)
			continue
		}
		for _, n := range names {
			known[n] = true
		}
		if unavailable && len(names) > 0 {
			return false, fmt.Errorf("%s: %w", names[0].Text, err)
		}
		if unavailable {
			c.unreadable(p, err)
			continue
		}
		if k == nil {
			c.note("the API server does not serve %s, kind %s: there is nothing to compare", p.GVK.GroupVersion(), p.GVK.Kind)
			continue
		}
		objects, err := c.primaries(ctx, k, names)
		if err != nil && len(c.Targets) == 0 && ctx.Err() == nil {
			c.unreadable(p, err)
			continue
		}
		if err != nil {
			return false, err
		}
		for _, u := range objects {
			for _, n := range names {
				found[n] = found[n] || n.Name == u.GetName()
			}
		}
		if len(objects) > 0 {
			c.selected = append(c.selected, selected{p, *k, objects})
		}
	}
	bundles, err := c.comparesBundles(ctx, func(n cluster.Target) { known[n], found[n] = true, true })
	if err != nil {
		return false, err
	}
	for _, n := range c.Targets {
		switch {
		case !known[n] && unknown != nil:
			return false, fmt.Errorf("%s: %w", n.Text, unknown)
		case !known[n]:
			return false, exit.Misused("%q: no rule is for that kind", n.Text)
		case !found[n]:
			return false, fmt.Errorf("%s not found%s", n.Text, c.where())
		}
	}
	return bundles || len(c.selected) > 0, nil
}

// unreadable records that the resources of a kind cannot be read. The others are compared.
func (c *comparison) unreadable(p *rules.Primary, err error) {
	unread := engine.Unread{Kind: p.GVK.Kind, Err: err}
	for _, r := range p.Rules {
		unread.Rules = append(unread.Rules, r.Name)
	}
	c.errs = append(c.errs, unread)
}

func (c *comparison) where() string {
	where := ""
	if c.Namespace != "" {
		where += " in namespace " + c.Namespace
	}
	if !c.Selector.Empty() {
		where += " with labels " + c.Selector.String()
	}
	return where
}

// primaries lists the resources of one kind, including those that no rule selects
// now: a rule may have selected them before.
func (c *comparison) primaries(ctx context.Context, k *discover.Kind, names []cluster.Target) ([]*unstructured.Unstructured, error) {
	options := metav1.ListOptions{LabelSelector: c.Selector.String()}
	if len(names) == 1 {
		options.FieldSelector = "metadata.name=" + names[0].Name
	}
	all, err := c.list(ctx, *k, []string{c.Namespace}, options)
	if err != nil {
		return nil, err
	}
	if len(names) > 0 {
		all = slices.DeleteFunc(all, func(u *unstructured.Unstructured) bool {
			return !slices.ContainsFunc(names, func(n cluster.Target) bool { return n.Name == u.GetName() })
		})
	}
	slices.SortFunc(all, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(strings.Compare(a.GetNamespace(), b.GetNamespace()), strings.Compare(a.GetName(), b.GetName()))
	})
	return all, nil
}
