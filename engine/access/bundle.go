package access

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/engine/answer"
	"reconcel/engine/ident"
	"reconcel/engine/managedfields"
	"reconcel/engine/plan"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// This file has the primaries of rules for the cluster. Their ConfigMaps are in the
// namespace of the installation. They show the state of a bundle and can pause it, but they
// do not decide whether it exists: the rule does. So a ConfigMap that is deleted comes back
// as it was last seen, and its loss affects no object of the bundle.

// BundleOf returns the primary that stands for a rule for the cluster.
func (c *Cluster) BundleOf(rule string) ident.Request {
	return rules.BundleOwner(c.Options.Namespace, c.Options.Name, rule)
}

// CreateBundle creates the ConfigMap of a bundle, or restores its label. Rules find the
// bundle by the label: a wrong one must not deselect it. What was done is as in the last state
// of the ConfigMap, which is nil if this process has not seen it.
func (c *Cluster) CreateBundle(ctx context.Context, primary *plan.PrimaryKind, k ident.Kind,
	rule string, last *watch.Object) (*watch.Object, error) {
	req := c.BundleOf(rule)
	body, err := rules.NewBundle(req, rule).MarshalJSON()
	if err != nil {
		return nil, err
	}
	writer := c.Writer(&rules.Rule{}, req, k, req.Namespace)
	o, err := writer.Apply(ctx, primary.Watch, "apply", req.Name, body, managedfields.Manager)
	if err != nil {
		return nil, fmt.Errorf("%s: create: %w", req, err)
	}
	if last == nil {
		return o, nil
	}
	done, found := plan.DoneText(last, rule)
	if _, there := plan.DoneText(o, rule); !found || there {
		return o, nil
	}
	o, err = c.writeMetadata(ctx, primary.Watch, k, o, o.GetFinalizers(), map[string]any{rules.DonePrefix + rule: done})
	if err != nil {
		return nil, fmt.Errorf("%s: restore what is done: %w", req, err)
	}
	return o, nil
}

// eachBundle visits the ConfigMaps of the installation's bundles.
func (c *Cluster) eachBundle(ctx context.Context, visit func(ident.Kind, *watch.Object)) error {
	k, err := c.Kinds.Find(ctx, rules.BundleObject)
	if err != nil {
		return err
	}
	list, err := c.Resource(k, c.Options.Namespace).List(ctx, metav1.ListOptions{LabelSelector: rules.LabelBundle})
	if err != nil {
		return fmt.Errorf("list %s in namespace %s: %w", k.GVK.Kind, c.Options.Namespace, err)
	}
	for i := range list.Items {
		o := watch.NewObject(&list.Items[i], watch.Primary)
		if o.GetName() != rules.BundleName(c.Options.Name, rules.BundleRule(o.Content())) {
			continue // It is another installation's.
		}
		visit(k, o)
	}
	return nil
}

// DeleteBundle deletes the ConfigMap of a bundle. It does nothing for other kinds.
func (c *Cluster) DeleteBundle(ctx context.Context, kind schema.GroupKind, rule string) error {
	if kind != rules.BundleKind.GroupKind() {
		return nil
	}
	k, err := c.Kinds.Find(ctx, rules.BundleObject)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, plan.WriteTimeout)
	defer cancel()
	req := c.BundleOf(rule)
	err = c.own(k, req.Namespace).Delete(ctx, req.Name, metav1.DeleteOptions{})
	if answer.IsAbsent(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("delete %s: %w", req, err)
	}
	c.Metrics.Wrote("delete", k)
	return nil
}
