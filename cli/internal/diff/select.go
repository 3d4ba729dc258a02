package diff

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/cli/internal/cluster"
	"reconcel/cli/internal/exit"
	"reconcel/engine/discover"
	"reconcel/engine/inventory"
	"reconcel/engine/preview"
	"reconcel/rules"
)

// selected are the primaries of one kind to compare.
type selected struct {
	rules   *rules.Primary
	kind    discover.Kind
	objects []*unstructured.Unstructured
}

// selectPrimaries selects the primaries and bundles to compare, in the order of the rules, then
// by name.
func (c *comparison) selectPrimaries(ctx context.Context) error {
	found, known := map[cluster.Target]bool{}, map[cluster.Target]bool{}
	var unknown error // why a kind and its other names are not known
	for _, p := range c.Rules.Program.Primaries() {
		if !slices.ContainsFunc(p.Rules, c.isGiven) {
			continue
		}
		if p.ForCluster() {
			c.selectBundles(p, func(n cluster.Target) { known[n], found[n] = true, true })
			continue
		}
		k, err := c.Cluster.Find(ctx, p.GVK)
		unavailable := discover.IsUnavailable(err)
		if err != nil && !unavailable {
			return err
		}
		names := slices.DeleteFunc(slices.Clone(c.Targets), func(n cluster.Target) bool { return !n.IsOf(p.GVK, k) })
		if len(c.Targets) > 0 && len(names) == 0 {
			unknown = cmp.Or(unknown, err)
			continue
		}
		for _, n := range names {
			known[n] = true
		}
		var objects []*unstructured.Unstructured
		switch {
		case unavailable && len(names) > 0:
			return fmt.Errorf("%s: %w", names[0].Text, err)
		case unavailable:
		case k == nil:
			c.Note("the API server does not serve %s, kind %s: there is nothing to compare", p.GVK.GroupVersion(), p.GVK.Kind)
		default:
			if objects, err = c.primaries(ctx, *k, names); err != nil && (len(c.Targets) > 0 || ctx.Err() != nil) {
				return err
			}
		}
		if err != nil { // The others are compared.
			unread := preview.Unread{Kind: p.GVK.Kind, Err: err}
			for _, r := range p.Rules {
				unread.Rules = append(unread.Rules, r.Name)
			}
			c.errs = append(c.errs, unread)
			continue
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
	for _, n := range c.Targets {
		switch {
		case !known[n] && unknown != nil:
			return fmt.Errorf("%s: %w", n.Text, unknown)
		case !known[n]:
			return exit.Misused("%q: no rule is for that kind", n.Text)
		case !found[n]:
			return fmt.Errorf("%s not found%s", n.Text, c.where())
		}
	}
	return nil
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
func (c *comparison) primaries(ctx context.Context, k discover.Kind,
	names []cluster.Target) (all []*unstructured.Unstructured, err error) {
	options := metav1.ListOptions{LabelSelector: c.Selector.String()}
	if len(names) == 1 {
		options.FieldSelector = "metadata.name=" + names[0].Name
	}
	err = c.Each(ctx, c.client.Known, k, []string{c.Namespace}, options, func(u *unstructured.Unstructured) error {
		if len(names) == 0 || slices.ContainsFunc(names, func(n cluster.Target) bool { return n.Name == u.GetName() }) {
			all = append(all, u)
		}
		return nil
	})
	slices.SortFunc(all, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(strings.Compare(a.GetNamespace(), b.GetNamespace()), strings.Compare(a.GetName(), b.GetName()))
	})
	return all, err
}

// selectBundles selects the bundles to compare. By default these are all. Arguments select bundles
// by their ConfigMaps.
func (c *comparison) selectBundles(p *rules.Primary, found func(cluster.Target)) {
	k := discover.Kind{GVK: rules.BundleObject, GVR: inventory.Resource, Singular: "configmap"}
	for _, r := range p.Rules {
		compared := c.isWhole() && c.isGiven(r)
		for _, t := range c.Targets {
			if t.IsOf(k.GVK, &k) && strings.HasSuffix(t.Name, rules.BundleName("", r.Name)) {
				compared = true
				found(t)
			}
		}
		if compared {
			c.bundles = append(c.bundles, r)
		}
	}
}

// addBundles adds the selected bundles. A bundle whose ConfigMap does not exist yet counts as it
// will be created.
func (c *comparison) addBundles(ctx context.Context, of preview.Config) error {
	if len(c.bundles) == 0 {
		return nil
	}
	k, err := c.Cluster.Kinds.Find(ctx, rules.BundleObject)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(c.Rules.Program.Primaries(), (*rules.Primary).ForCluster)
	s := selected{rules: c.Rules.Program.Primaries()[i], kind: k}
	for _, r := range c.bundles {
		bundle := rules.BundleOwner(of.Namespace, cmp.Or(of.Name, "reconcel"), r.Name)
		u, err := c.client.Resource(inventory.Resource).Namespace(bundle.Namespace).Get(ctx, bundle.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
			u, err = rules.NewBundle(bundle, r.Name), nil
		}
		if err != nil {
			return err
		}
		s.objects = append(s.objects, u)
	}
	c.selected = append(c.selected, s)
	return nil
}
