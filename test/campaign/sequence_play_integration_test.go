//go:build integration

package campaign

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/test/e2e"
	"reconcel/test/oracle"
)

// sequence is a plan at work, in a namespace of its own.
type sequence struct {
	sequencePlan
	world     *e2e.World
	model     *sequenceModel
	seen      *oracle.Selection
	namespace string
	primary   map[string]any // as it should be
	rules     sequenceRules  // the last valid ones
	done      int            // steps
	slowest   timedStep
}

// timedStep is a step and how long it took.
type timedStep struct {
	took time.Duration
	do   operation
}

// String implements fmt.Stringer.
func (t timedStep) String() string {
	return fmt.Sprintf("%s of %s", t.took.Round(time.Millisecond), t.do)
}

var changeOptions = metav1.PatchOptions{FieldManager: e2e.FieldManager}

// play performs a step, and returns what is wrong afterwards.
func (q *sequence) play(ctx context.Context, s sequenceStep) error {
	began, before := time.Now(), q.census()
	if s.Reload != nil && !s.Reload.Invalid {
		q.rules = *s.Reload
	}
	if err := q.perform(ctx, s); err != nil {
		return fmt.Errorf("step %d, %s: %w", q.done, s.Do, err)
	}
	if err := q.converges(ctx); err != nil {
		return fmt.Errorf("step %d, %s: %w", q.done, s.Do, err)
	}
	if err := q.census().compare(before, s); err != nil {
		return fmt.Errorf("step %d, %s: %w", q.done, s.Do, err)
	}
	q.done++
	if took := time.Since(began); took > q.slowest.took {
		q.slowest = timedStep{took, s.Do}
	}
	return nil
}

// perform performs the operation.
func (q *sequence) perform(ctx context.Context, s sequenceStep) error {
	switch s.Do {
	case changes:
		return q.change(ctx, s.Changes)
	case mistake:
		return q.wrongly(ctx, s.Changes, "Stalled", "True", s.Reason)
	case pause:
		if err := q.patch(ctx, fieldChange{pausedPath, "true"}); err != nil {
			return err
		}
		if err := q.wrongly(ctx, s.Changes, "Ready", "Unknown", "Paused"); err != nil {
			return err
		}
		return q.patch(ctx, fieldChange{pausedPath, nil})
	case drift, removal:
		return q.disturb(ctx, s)
	case rebirth:
		return q.rebirth(ctx)
	case adoption, collision:
		return q.meet(ctx, s)
	default:
		return fmt.Errorf("unknown operation %q", s.Do)
	}
}

var pausedPath = []string{"metadata", "annotations", "reconcel.dev/paused"}

// change changes the primary for good.
func (q *sequence) change(ctx context.Context, all []fieldChange) error {
	for _, c := range all {
		if err := q.patch(ctx, c); err != nil {
			return err
		}
		c.apply(q.primary)
	}
	return nil
}

// wrongly changes the primary, waits for a condition, and changes it back. The children
// must not change.
func (q *sequence) wrongly(ctx context.Context, all []fieldChange, conditionType, status, reason string) error {
	before := q.children()
	was := (&unstructured.Unstructured{Object: q.primary}).DeepCopy().Object
	for _, c := range all {
		if err := q.patch(ctx, c); err != nil {
			return err
		}
	}
	if err := q.reports(ctx, conditionType, status, reason); err != nil {
		return err
	}
	if err := sameObjects(before, q.children()); err != nil {
		return fmt.Errorf("the children after a mistake: %w", err)
	}
	for _, c := range all {
		if err := q.patch(ctx, fieldChange{c.Path, c.value(was)}); err != nil {
			return err
		}
	}
	return nil
}

// disturb changes or deletes a child, if it exists.
func (q *sequence) disturb(ctx context.Context, s sequenceStep) error {
	for key := range q.seen.Versions() {
		if !strings.HasPrefix(key.Name, "a-"+s.Object) {
			continue
		}
		live, client := q.seen.Live(key), q.world.ResourceIn(faultKinds[key.Kind], q.namespace)
		if s.Do == removal {
			background := metav1.DeletePropagationBackground
			if err := client.Delete(ctx, key.Name, metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
				return err
			}
			return await(ctx, "the deletion of "+key.Name, func() error {
				if now := q.seen.Live(key); now != nil && now.GetUID() == live.GetUID() {
					return errors.New("it exists")
				}
				return nil
			})
		}
		body, err := json.Marshal(s.Merge)
		if err != nil {
			return err
		}
		changed, err := client.Patch(ctx, key.Name, types.MergePatchType, body, changeOptions)
		if err != nil {
			return err
		}
		return q.saw(ctx, changed)
	}
	return nil
}

// rebirth deletes the primary, and creates it again.
func (q *sequence) rebirth(ctx context.Context) error {
	boxes := q.world.ResourceIn(faultKinds["Box"], q.namespace)
	background := metav1.DeletePropagationBackground
	if err := boxes.Delete(ctx, "a", metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
		return err
	}
	return await(ctx, "the primary to be created again", func() error { return q.create(ctx, q.primary) })
}

// meet gives an object of others the name of a child.
func (q *sequence) meet(ctx context.Context, s sequenceStep) error {
	wanted := s.Changes[0]
	if err := q.change(ctx, []fieldChange{{wanted.Path, nil}}); err != nil {
		return err
	}
	if err := q.converges(ctx); err != nil {
		return err
	}
	name := "a-" + wanted.Path[1]
	configMaps := q.world.ResourceIn(e2e.ConfigMap, q.namespace)
	theirs := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}, "data": map[string]any{"value": "theirs"},
	}}
	theirs, err := configMaps.Create(ctx, theirs, metav1.CreateOptions{FieldManager: e2e.FieldManager})
	if err != nil {
		return err
	}
	if err := q.saw(ctx, theirs); err != nil {
		return err
	}
	if err := q.change(ctx, s.Changes); err != nil {
		return err
	}
	if s.Do == adoption {
		if err := q.converges(ctx); err != nil {
			return err
		}
		if now := q.seen.Live(keyOf(theirs)); now.GetUID() != theirs.GetUID() {
			return errors.New("the object to adopt was replaced")
		}
		return nil
	}
	if err := q.reports(ctx, "Stalled", "True", "ErrResourceExists"); err != nil {
		return err
	}
	if now := q.seen.Live(keyOf(theirs)); now == nil || now.GetResourceVersion() != theirs.GetResourceVersion() {
		return errors.New("the object of others has changed")
	}
	return configMaps.Delete(ctx, name, metav1.DeleteOptions{})
}

// create creates an object in the namespace of the sequence.
func (q *sequence) create(ctx context.Context, object map[string]any) error {
	u := (&unstructured.Unstructured{Object: object}).DeepCopy()
	created, err := q.world.ResourceIn(u.GroupVersionKind(), q.namespace).Create(ctx, u, metav1.CreateOptions{FieldManager: e2e.FieldManager})
	if err != nil {
		return err
	}
	if created.GetName() == canary {
		return nil
	}
	return q.saw(ctx, created)
}

// patch changes a field of the primary.
func (q *sequence) patch(ctx context.Context, c fieldChange) error {
	escaped := strings.NewReplacer("~", "~0", "/", "~1")
	change := map[string]any{"op": "add", "path": "", "value": c.Value}
	for _, part := range c.Path {
		change["path"] = change["path"].(string) + "/" + escaped.Replace(part)
	}
	if c.Value == nil {
		change["op"] = "remove"
		delete(change, "value")
	}
	body, err := json.Marshal([]any{change})
	if err != nil {
		return err
	}
	changed, err := q.world.ResourceIn(faultKinds["Box"], q.namespace).Patch(ctx, "a", types.JSONPatchType, body, changeOptions)
	if c.Value == nil && (apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)) {
		return nil // It was absent.
	}
	if err != nil {
		return fmt.Errorf("patch %s: %w", body, err)
	}
	return q.saw(ctx, changed)
}

// apply makes the change to an object.
func (c fieldChange) apply(object map[string]any) {
	at := object
	for _, part := range c.Path[:len(c.Path)-1] {
		at = at[part].(map[string]any)
	}
	if last := c.Path[len(c.Path)-1]; c.Value == nil {
		delete(at, last)
	} else {
		at[last] = c.Value
	}
}

// value returns the value of the field in an object, or nil.
func (c fieldChange) value(object map[string]any) any {
	value, _, _ := unstructured.NestedFieldNoCopy(object, c.Path...)
	return value
}
