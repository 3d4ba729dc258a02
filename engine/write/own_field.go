package write

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/engine/answer"
	"reconcel/engine/decide"
	"reconcel/engine/managedfields"
	"reconcel/engine/outcome"
	"reconcel/engine/plan"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// ensureOwn writes the fields of a patch that are computed from themselves, by a merge patch for the state that was
// rendered. So no change of another writer is undone. It is no apply: a field whose value stays belongs to others as
// before, and no field is removed when the rule leaves the primary.
func (p *Patches) ensureOwn(ctx context.Context, by plan.Patcher, r *rules.RuleResult,
	own map[string]any) (outcome.Action, error) {
	if err := p.disown(ctx, by, r.OwnFields); err != nil {
		return outcome.Unchanged, err
	}
	w, content := p.Memory.Patch(by.Manager+ownFields), p.Self.Content()
	hash, live := hashOf(own), hashOf(fieldsOf(content, r.OwnFields))
	switch {
	case hashOf(fieldsOf(rules.Merged(content, own), r.OwnFields)) == live:
		return outcome.Unchanged, nil
	case w.Hash == hash && w.Stored == live: // Admission, or a default, makes this of it.
		return outcome.Unchanged, nil
	case w.Next == hash && w.Stored == live && w.Unstable != nil:
		return outcome.Unchanged, w.Unstable
	}
	before := p.Self
	did, err := p.damped(w, hash, func() error { return p.mergePatch(ctx, by, own) })
	if err != nil {
		return did, err
	}
	w.Rejected, w.Renew, w.Unstable = nil, false, nil
	w.Stored = hashOf(fieldsOf(p.Self.Content(), r.OwnFields))
	next := p.ownOver(p.Self, r.Rule)
	w.Next = hashOf(next)
	if next == nil || w.Next == hash || hashOf(fieldsOf(rules.Merged(p.Self.Content(), next), r.OwnFields)) == w.Stored ||
		hashOf(p.ownOver(before, r.Rule)) != hash { // What the rule reads has changed meanwhile.
		return did, nil
	}
	w.Unstable = unstable(r.OwnFields, own, next)
	return did, w.Unstable
}

// ownFields distinguishes what is remembered of these fields from what is remembered of the others of a patch.
const ownFields = " own"

// mergePatch sends fields of the primary for the state that was rendered.
func (p *Patches) mergePatch(ctx context.Context, by plan.Patcher, own map[string]any) error {
	body, err := json.Marshal(rules.Merged(own, map[string]any{"metadata": map[string]any{
		"uid": string(p.Self.GetUID()), "resourceVersion": p.Self.GetResourceVersion()}}))
	if err != nil {
		return err
	}
	w := p.Cluster.Writer(by.Rule, p.Req, p.Cache.Kind(), p.Req.Namespace)
	o, err := w.Merge(ctx, p.Primary.Watch, p.Req.Name, body)
	if apierrors.IsConflict(err) || answer.IsAbsent(err) {
		return decide.ErrStale // Render it again.
	}
	if err != nil {
		return outcome.ClassifyAnswer(err)
	}
	p.Self, p.Memory.Self = o, o
	return nil
}

// disown gives up the fields that an earlier version of the rule has applied, which the next apply would remove.
func (p *Patches) disown(ctx context.Context, by plan.Patcher, fields [][]string) error {
	owned := by.Owned(p.Self).Set()
	if !slices.ContainsFunc(fields, func(keys []string) bool { return owned.Has(keys...) }) {
		return nil
	}
	live, err := p.Reader.ReadPrimary(ctx)
	if live == nil || err != nil {
		return err
	}
	applier := managedfields.Applier{Name: by.Manager}
	patch, err := managedfields.Repair{Live: live, Manager: applier}.Disown(fields)
	if err == nil && patch != nil {
		_, err = p.Cluster.Writer(by.Rule, p.Req, p.Cache.Kind(), p.Req.Namespace).Edit(ctx, p.Req.Name, patch, applier)
	}
	if err != nil {
		return decide.RepairError(err)
	}
	p.Memory.Patch(by.Manager).Fields = managedfields.Entry{}
	return decide.ErrStale
}

// ownOver returns the fields that are computed from themselves, as the rule renders them for another state of the
// primary, or nil.
func (p *Patches) ownOver(self *watch.Object, rule *rules.Rule) map[string]any {
	_, own, err := p.View.Over(self, rule).Split()
	if err != nil {
		return nil // The next reconciliation tells it.
	}
	return own
}

// unstable returns the error for the first field whose value changes with each rendering.
func unstable(fields [][]string, sent, next map[string]any) error {
	for _, keys := range fields {
		was, _, _ := unstructured.NestedFieldNoCopy(sent, keys...)
		is, _, _ := unstructured.NestedFieldNoCopy(next, keys...)
		if !managedfields.EqualValues(was, is) {
			return &outcome.TerminalError{Reason: string(rules.RuleError), Retry: outcome.RefusedRetry,
				Err: errors.New(rules.Unstable(keys))}
		}
	}
	return nil
}

// fieldsOf returns some fields of an object.
func fieldsOf(object map[string]any, fields [][]string) []any {
	out := make([]any, len(fields))
	for i, keys := range fields {
		out[i], _, _ = unstructured.NestedFieldNoCopy(object, keys...)
	}
	return out
}

func hashOf(v any) [16]byte {
	text, _ := json.Marshal(v) // Parts of JSON always marshal.
	return decide.PatchHash(text)
}
