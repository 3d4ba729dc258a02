package diff

import (
	"cmp"
	"context"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"reconcel/cli/internal/cluster"
	"reconcel/engine"
	"reconcel/engine/discover"
	"reconcel/engine/inventory"
	"reconcel/rules"
)

// comparesBundle reports whether the bundle of a rule is compared. By default all are. Arguments
// select bundles by their ConfigMaps.
func (c *comparison) comparesBundle(rule string, k *discover.Kind) bool {
	if len(c.Targets) == 0 {
		return c.Selector.Empty() && c.Namespace == ""
	}
	return slices.ContainsFunc(c.Targets, func(t cluster.Target) bool { return selectsBundle(t, rule, k) })
}

func selectsBundle(t cluster.Target, rule string, k *discover.Kind) bool {
	return t.IsOf(rules.BundleObject, k) && strings.HasSuffix(t.Name, rules.BundleName("", rule))
}

// comparesBundles reports whether bundles are compared. It marks the targets that select one.
func (c *comparison) comparesBundles(ctx context.Context, found func(cluster.Target)) (some bool, err error) {
	k, err := c.Cluster.Find(ctx, rules.BundleObject)
	if err != nil {
		return false, err
	}
	for _, p := range c.Rules.Program.Primaries() {
		if !p.ForCluster() {
			continue
		}
		for _, r := range p.Rules {
			some = some || c.comparesBundle(r.Name, k)
			for _, t := range c.Targets {
				if selectsBundle(t, r.Name, k) {
					found(t)
				}
			}
		}
	}
	return some, nil
}

// addBundles adds the bundles of the rules for the cluster. A bundle whose ConfigMap does
// not exist yet counts as it will be created.
func (c *comparison) addBundles(ctx context.Context, of engine.PreviewOf) error {
	k, err := c.Cluster.Find(ctx, rules.BundleObject)
	if err != nil || k == nil {
		return err
	}
	for _, p := range c.Rules.Program.Primaries() {
		if !p.ForCluster() {
			continue
		}
		s := selected{rules: p, kind: *k}
		for _, r := range p.Rules {
			if !c.comparesBundle(r.Name, k) {
				continue
			}
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
		if len(s.objects) > 0 {
			c.selected = append(c.selected, s)
		}
	}
	return nil
}
