package engine

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/engine/answer"
	"reconcel/engine/inventory"
	"reconcel/engine/managedfields"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// This file has the primaries of rules for the cluster. Their ConfigMaps are in the
// namespace of the installation. They show the state of a bundle and can pause it, but they
// do not decide whether it exists: the rule does. So a ConfigMap that is deleted comes back,
// and its loss affects no object of the bundle.

func (e *Engine) bundleOf(rule string) Request {
	return rules.BundleOwner(e.options.Namespace, e.options.Name, rule)
}

// enqueueBundles enqueues the bundles of rules, whether their ConfigMaps exist or not.
func (e *Engine) enqueueBundles(pk *primaryKind, of []*rules.Rule) {
	if !pk.ForCluster() {
		return
	}
	for _, r := range of {
		e.queue.Add(e.bundleOf(r.Name))
	}
}

// findBundle returns the ConfigMap of a bundle, and creates it if it is missing. It returns
// nil if no rule has the bundle and nothing of it is left to decide about.
func (e *Engine) findBundle(ctx context.Context, primary *primaryKind, cache *watch.Cache, cached *watch.Object, req Request) (*watch.Object, error) {
	i := slices.IndexFunc(primary.Rules, func(r *rules.Rule) bool { return e.bundleOf(r.Name) == req })
	verdict := primary.plan.verdict.Load()
	switch {
	case i >= 0 && verdict.refuses(primary.Rules[i]):
		e.memories.forget(req)
		return nil, nil // Another installation has the objects of the rule.
	case i >= 0 && cached != nil && rules.BundleRule(cached.Content()) == primary.Rules[i].Name:
		return cached, nil
	case i >= 0:
		return e.createBundle(ctx, primary, cache.Kind(), primary.Rules[i].Name)
	case !primary.orphanedObjects.has(req):
		e.memories.forget(req)
		return nil, nil
	case cached != nil:
		return cached, nil
	}
	// The objects of a removed rule are left, and its ConfigMap is gone.
	return watch.NewObject(rules.NewBundle(req, ""), watch.Primary), nil
}

// createBundle creates the ConfigMap of a bundle, or restores its label. Rules find the
// bundle by the label: a wrong one must not deselect it.
func (e *Engine) createBundle(ctx context.Context, primary *primaryKind, k Kind, rule string) (*watch.Object, error) {
	req := e.bundleOf(rule)
	body, err := rules.NewBundle(req, rule).MarshalJSON()
	if err != nil {
		return nil, err
	}
	writer := e.writer(&rules.Rule{}, req, k, req.Namespace)
	o, err := writer.apply(ctx, primary.watch, "apply", req.Name, body, managedfields.Manager)
	if err != nil {
		return nil, fmt.Errorf("%s: create: %w", req, err)
	}
	return o, nil
}

// refused reports whether the primary may have the report of another installation, which
// a write would remove. The ConfigMap of a bundle is this installation's alone.
func (p *pass) refused() bool {
	return !p.primary.ForCluster() && p.verdict.refusesAny(p.primary)
}

// eachBundle visits the ConfigMaps of the installation's bundles.
func (e *Engine) eachBundle(ctx context.Context, visit func(Kind, *watch.Object) error) error {
	k, err := e.kinds.Find(ctx, rules.BundleObject)
	if err != nil {
		return err
	}
	list, err := e.resource(k, e.options.Namespace).List(ctx, metav1.ListOptions{LabelSelector: rules.LabelBundle})
	if err != nil {
		return fmt.Errorf("list %s in namespace %s: %w", k.GVK.Kind, e.options.Namespace, err)
	}
	for i := range list.Items {
		o := watch.NewObject(&list.Items[i], watch.Primary)
		if o.GetName() != rules.BundleName(e.options.Name, rules.BundleRule(o.Content())) {
			continue // It is another installation's.
		}
		if err := visit(k, o); err != nil {
			return err
		}
	}
	return nil
}

// removeBundle deletes the ConfigMap of a rule that is no longer loaded or no longer for
// the cluster. While objects of the rule are being deleted, it stays: it may pause that.
func (e *Engine) removeBundle(ctx context.Context, pl *plan, f inventory.Finalizer) error {
	deletes := slices.ContainsFunc(pl.orphaned.Removed, func(r inventory.RemovedRule) bool { return r.Name == f.Rule && r.For == f.Kind })
	if !deletes {
		if err := e.deleteBundle(ctx, f.Primary(), f.Rule); err != nil {
			return err
		}
	}
	return e.inventory.RemoveFinalizer(ctx, f)
}

// deleteBundle deletes the ConfigMap of a bundle. It does nothing for other kinds.
func (e *Engine) deleteBundle(ctx context.Context, kind schema.GroupKind, rule string) error {
	if kind != rules.BundleKind.GroupKind() {
		return nil
	}
	k, err := e.kinds.Find(ctx, rules.BundleObject)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	req := e.bundleOf(rule)
	err = e.own(k, req.Namespace).Delete(ctx, req.Name, metav1.DeleteOptions{})
	if answer.IsAbsent(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("delete %s: %w", req, err)
	}
	e.metrics.wrote("delete", k)
	return nil
}

// heirs are reconciliations of the loaded bundles that only render. One of them may take
// over an object of a removed rule for the cluster, as the rules for one primary may.
func (p *pass) heirs() (all []*pass) {
	if !p.primary.ForCluster() {
		return nil
	}
	for _, r := range p.primary.Rules {
		heir := *p
		heir.req = p.engine.bundleOf(r.Name)
		heir.self = watch.NewObject(rules.NewBundle(heir.req, r.Name), watch.Primary)
		heir.rendering, heir.wanted = &rules.Rendering{}, nil
		heir.render(p.engine.clock.Now())
		all = append(all, &heir)
	}
	return all
}

// inheritsFromBundle reports whether an object belongs to a bundle of the same installation
// whose rule is gone. A rule under a new name takes over the objects that it renders.
func (k *known) inheritsFromBundle(d *rules.Desired, o *watch.Object) bool {
	former, tracked := o.Owner()
	if !tracked || former.Kind != rules.BundleKind.GroupKind() || k.primary.Kind != former.Kind || !o.BelongsTo(former) || o.Terminating() {
		return false
	}
	gone := !slices.ContainsFunc(k.rules, func(r *rules.Rule) bool { return r.Name == o.Rule() })
	return gone && former == rules.SiblingOf(k.primary, d.Child.Rule.Name, o.Rule())
}
