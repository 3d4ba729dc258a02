package access

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/engine/answer"
	"reconcel/engine/decide"
	"reconcel/engine/ident"
	"reconcel/engine/managedfields"
	"reconcel/engine/outcome"
	"reconcel/engine/plan"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// Metadata has the finalizers and annotations that reconcel sets on a primary.
type Metadata struct {
	*Subject
}

// AddFinalizer adds the rule's finalizer. The annotation remains if a deselected primary matches again.
func (m *Metadata) AddFinalizer(ctx context.Context, rule *rules.Rule) error {
	return m.EditMetadata(ctx, m.withFinalizer(rule), map[string]any{decide.FinalizedPrefix + rule.Name: nil})
}

// Finalized reports whether the rule's entries of finalize are done.
func (m *Metadata) Finalized(rule *rules.Rule) bool {
	metadata, _ := m.Self.Content()["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	return len(annotations) > 0 && annotations[decide.FinalizedPrefix+rule.Name] == string(m.Req.UID)
}

// MarkFinalized notes on the primary that the finalize entries of a rule are done.
func (m *Metadata) MarkFinalized(ctx context.Context, rule *rules.Rule) error {
	return m.EditMetadata(ctx, m.Self.GetFinalizers(),
		map[string]any{decide.FinalizedPrefix + rule.Name: string(m.Req.UID)})
}

func (m *Metadata) withFinalizer(rule *rules.Rule) []string {
	list, own := m.Self.GetFinalizers(), rules.Finalizer(rule.Name)
	if slices.Contains(list, own) {
		return list
	}
	return append(list, own)
}

// DropFinalizer removes the finalizer of a rule that does not need it. The rule still remembers what is done.
func (m *Metadata) DropFinalizer(ctx context.Context, rule *rules.Rule) error {
	finalizers, annotations := decide.WithoutFinalizer(m.Self, rule.Name)
	delete(annotations, rules.DonePrefix+rule.Name)
	return m.EditMetadata(ctx, finalizers, annotations)
}

// Release removes the finalizer and the annotations of a rule that leaves the primary. It succeeds if the primary is
// gone.
func (m *Metadata) Release(ctx context.Context, rule *rules.Rule) error {
	finalizers, annotations := decide.WithoutFinalizer(m.Self, rule.Name)
	err := m.EditMetadata(ctx, finalizers, annotations)
	if m.Gone {
		return nil
	}
	if err == nil {
		m.Memory.Unmark(rules.DonePrefix + rule.Name)
	}
	return err
}

// EditMetadata sets the finalizers and some annotations of the primary in the state
// that this reconciliation has read. A null removes an annotation.
func (m *Metadata) EditMetadata(ctx context.Context, finalizers []string, annotations map[string]any) error {
	o, err := m.Cluster.writeMetadata(ctx, m.Primary.Watch, m.Cache.Kind(), m.Self, finalizers, annotations)
	switch {
	case answer.IsAbsent(err):
		m.Gone = true
		return decide.ErrStale
	case apierrors.IsConflict(err):
		return decide.ErrStale
	case err != nil:
		return fmt.Errorf("write metadata of %s: %w", m.Req, outcome.ClassifyAnswer(err))
	}
	m.Self, m.Memory.Self = o, o
	return decide.Stripped(m.Req.String(), decide.LostMetadata(o, finalizers, annotations))
}

// RemoveFinalizer removes the finalizer and the annotations of a rule from a primary in
// the state that was read, without a reconciliation.
func (c *Cluster) RemoveFinalizer(ctx context.Context, k ident.Kind, o *watch.Object, rule string) error {
	finalizers, annotations := decide.WithoutFinalizer(o, rule)
	_, err := c.writeMetadata(ctx, nil, k, o, finalizers, annotations)
	if answer.IsAbsent(err) {
		return nil
	}
	return err
}

// writeMetadata sets the finalizers and some annotations of a primary, unless it has
// changed since it was read. It returns the answer as the watch caches it, and nil without a
// watch.
func (c *Cluster) writeMetadata(ctx context.Context, as *watch.Watch, k ident.Kind, o *watch.Object,
	finalizers []string, annotations map[string]any) (*watch.Object, error) {
	if finalizers == nil {
		finalizers = []string{}
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": o.GetUID(), "resourceVersion": o.GetResourceVersion(), "finalizers": finalizers, "annotations": annotations,
	}})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, plan.WriteTimeout)
	defer cancel()
	written, err := c.Sender.Send(ctx, as, watch.Patch{
		Kind: k, Namespace: o.GetNamespace(), Name: o.GetName(), Type: types.MergePatchType, Body: body,
		Manager: managedfields.Manager,
	})
	if err == nil {
		c.Metrics.Wrote("patch", k)
	}
	return written, err
}

// Annotator writes the annotation as reconcel itself, like the status.
func (c *Cluster) Annotator() plan.Patcher {
	return plan.Patcher{Rule: &rules.Rule{}, Manager: managedfields.AnnotationManager(c.Installation)}
}

// RemoveAnnotation removes the annotation from a primary without a reconciliation.
func (c *Cluster) RemoveAnnotation(ctx context.Context, k ident.Kind, o *watch.Object) error {
	_, err := c.PatchPrimary(ctx, nil, k, o, c.Annotator(), map[string]any{})
	if errors.Is(err, decide.ErrStale) {
		return nil // The primary is gone.
	}
	return err
}
