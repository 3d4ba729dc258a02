package access

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"reconcel/engine/answer"
	"reconcel/engine/decide"
	"reconcel/engine/ident"
	"reconcel/engine/outcome"
	"reconcel/engine/plan"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// PatchPrimary applies a patch to a primary. It returns the answer as the watch
// caches it, and nil without a watch.
func (c *Cluster) PatchPrimary(ctx context.Context, as *watch.Watch, k ident.Kind, o *watch.Object, by plan.Patcher,
	desired map[string]any) (*watch.Object, error) {
	u := decide.ApplicationTo(k, o, desired)
	u.SetUID(o.GetUID()) // Prevents the apply from creating a deleted primary again.
	body, err := u.MarshalJSON()
	if err != nil {
		return nil, err
	}
	writer := c.Writer(by.Rule, ident.Request{Namespace: o.GetNamespace()}, k, o.GetNamespace())
	response, err := writer.Apply(ctx, as, "patch", o.GetName(), body, by.Manager)
	if apierrors.IsConflict(err) || answer.IsAbsent(err) {
		return nil, decide.ErrStale // The primary was deleted or replaced.
	}
	return response, outcome.ClassifyAnswer(err)
}

// RevertPatch reverts a removed rule's patch of a primary without a
// reconciliation of that primary.
func (c *Cluster) RevertPatch(ctx context.Context, k ident.Kind, o *watch.Object, rule *rules.Rule) error {
	_, err := c.PatchPrimary(ctx, nil, k, o, plan.PatcherOf(rule), map[string]any{})
	if err == nil {
		c.Log.Info("reverted the patch of a removed rule", "object", ident.SubjectOf(k, o), "rule", rule.Name)
	}
	return err
}
