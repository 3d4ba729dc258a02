package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"reconcel/engine/discover"
	"reconcel/engine/inventory"
	"reconcel/engine/managedfields"
	"reconcel/rules"
)

// What rules have left on primaries that no watch shows: because the rule is
// not loaded any more, or because the primary stopped to bear the watch's
// selector while no process was running.

// sweepInterval is how long until what failed is tried again.
const sweepInterval = 10 * time.Second

// sweepFinalizers takes the finalizers of removed rules off, for as long as it
// takes: nobody else would, and the objects could never be deleted. What the
// rules have made stays.
func (e *Engine) sweepFinalizers(ctx context.Context, stale []inventory.Finalizer) {
	e.untilDone(ctx, "finalizer cleanup", func(ctx context.Context) error {
		for len(stale) > 0 {
			if err := e.sweepFinalizer(ctx, stale[0]); err != nil {
				return fmt.Errorf("rule %q, kind %s: %w", stale[0].Rule, stale[0].Kind, err)
			}
			if err := e.inventory.RemoveFinalizer(ctx, stale[0]); err != nil {
				return err
			}
			stale = stale[1:]
		}
		return nil
	})
}

func (e *Engine) sweepFinalizer(ctx context.Context, s inventory.Finalizer) error {
	k, err := discover.AnyVersion(ctx, e.kinds, s.Primary())
	if discover.IsNoKind(err) {
		return nil // Its objects have gone with it.
	}
	if err != nil {
		return err
	}
	return e.eachOf(ctx, k, func(o *object) error {
		if !slices.Contains(o.GetFinalizers(), rules.Finalizer(s.Rule)) {
			return nil
		}
		if err := e.dropFinalizer(ctx, k, o, s.Rule); err != nil {
			return err
		}
		subject := name(k.GVK.Kind, o.GetNamespace(), o.GetName())
		e.log.Info("removed the finalizer of a removed rule", "object", subject, "rule", s.Rule)
		return nil
	})
}

// dropFinalizer takes the finalizer of a rule, and its mark, off a primary in the
// state that was read.
func (e *Engine) dropFinalizer(ctx context.Context, k Kind, o *object, rule string) error {
	rest := slices.DeleteFunc(o.GetFinalizers(), func(f string) bool { return f == rules.Finalizer(rule) })
	body, err := metadataPatch(o, rest, map[string]any{finalizedPrefix + rule: nil})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	_, err = e.own(k, o.GetNamespace()).Patch(ctx, o.GetName(), types.MergePatchType, body, metav1.PatchOptions{FieldManager: managedfields.Manager})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// lookForLeavers looks once for primaries that no cache shows and that carry
// something of a rule.
func (e *Engine) lookForLeavers(ctx context.Context, primary *primaryKind) {
	e.untilDone(ctx, "deselected resources", func(ctx context.Context) error { return e.enqueueLeavers(ctx, primary) })
}

// mayHaveLeavers reports whether the rules write into objects of the kind, and
// the watch does not show all of them.
func (pk *primaryKind) mayHaveLeavers() bool {
	return pk.watch.key.selector != "" && slices.ContainsFunc(pk.Rules, (*rules.Rule).WritesPrimary)
}

func (e *Engine) enqueueLeavers(ctx context.Context, primary *primaryKind) error {
	c := primary.watch.cached.Load()
	switch {
	case c == nil && discover.IsNoKind(primary.watch.trouble()):
		return nil // It has no objects.
	case c == nil:
		return primary.watch.trouble()
	}
	return e.eachOf(ctx, c.kind, func(o *object) error {
		patched := func(r *rules.Rule) bool {
			return o.patches[managedfields.PatchManager(r.Name)] != (managedfields.Entry{})
		}
		if c.get(o.GetNamespace(), o.GetName()) == nil && (primary.held(o) || slices.ContainsFunc(primary.Rules, patched)) {
			e.enqueuePrimary(o)
		}
		return nil
	})
}

// untilDone tries something until it succeeds or ctx ends.
func (e *Engine) untilDone(ctx context.Context, what string, try func(context.Context) error) {
	_ = wait.PollUntilContextCancel(ctx, sweepInterval, true, func(ctx context.Context) (bool, error) {
		err := try(ctx)
		switch {
		case err == nil || ctx.Err() != nil:
		case errors.Is(err, errStarting):
			e.log.Debug("background task failed, will retry", "task", what, "error", err)
		default:
			e.log.Warn("background task failed, will retry", "task", what, "error", err)
		}
		return err == nil, nil
	})
}

// eachOf visits all objects of a kind that are followed.
func (e *Engine) eachOf(ctx context.Context, k Kind, visit func(*object) error) error {
	return e.eachListed(ctx, k, metav1.ListOptions{}, primaryRole, visit)
}

// eachListed visits the objects of a kind that are followed and that a list has.
// A namespace that may not be read keeps nobody from those in the others.
func (e *Engine) eachListed(ctx context.Context, k Kind, options metav1.ListOptions, role role, visit func(*object) error) error {
	if err := k.CheckScope(e.options.Namespaces); err != nil {
		return err
	}
	var errs []error
	for _, namespace := range parts(e.options.Namespaces) {
		errs = append(errs, e.eachIn(ctx, k, namespace, options, func(u *unstructured.Unstructured) error { return visit(newObject(u, role)) }))
	}
	return errors.Join(errs...)
}

// eachIn visits the objects that a list has in a namespace, or with "" in all of
// them, page by page.
func (e *Engine) eachIn(ctx context.Context, k Kind, namespace string, options metav1.ListOptions, visit func(*unstructured.Unstructured) error) error {
	options.Limit = 500
	for {
		list, err := e.resource(k, namespace).List(ctx, options)
		if err != nil {
			return fmt.Errorf("list %s: %w", k.GVK.Kind, err)
		}
		for i := range list.Items {
			if err := visit(&list.Items[i]); err != nil {
				return err
			}
		}
		if options.Continue = list.GetContinue(); options.Continue == "" {
			return nil
		}
	}
}
