package engine

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"reconcel/engine/answer"
	"reconcel/engine/managedfields"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// writtenPatch is our last write of one rule's patch of the primary.
type writtenPatch struct {
	hash     [16]byte            // of the patch; zero: not written, or reverted
	fields   managedfields.Entry // the fields that we owned after the write
	version  string              // resourceVersion of the response
	rejected *rejectedWrite
	damper   damper
}

// patch applies a rule's patch to the primary with the rule's own field manager.
// It does not set rules.AnnotationApplied, because controllers copy annotations of
// their objects to other objects. So ensurePatch compares values.
func (p *pass) patch(ctx context.Context, r *rules.RuleResult) outcome {
	switch {
	case r.PatchErr != nil:
		return position{rule: r.Rule.Name, subject: "patch"}.failed(r.PatchErr)
	case len(r.PatchWaits) > 0:
		return waitingOutcome(position{rule: r.Rule.Name, subject: "patch"}, r.PatchWaits)
	case len(r.Patch) == 0:
		return p.outcomeOf(p.unpatch(ctx, r.Rule)) // An earlier version of the rule may have had a patch.
	}
	did, err := p.ensurePatch(ctx, r)
	switch {
	case err != nil:
		return p.outcomeOf(position{rule: r.Rule.Name, subject: "patch"}.wrap(err))
	case did == Configured:
		return position{rule: r.Rule.Name, subject: "patch"}.says(progressing, reasonProgressing, "applied")
	}
	return outcome{}
}

func (p *pass) ensurePatch(ctx context.Context, r *rules.RuleResult) (Action, error) {
	sum := sha256.Sum256(r.Patch)
	hash := [16]byte(sum[:16])
	w := p.memory.patch(r.Rule.Name)
	own := p.self.PatchFields(r.Rule.Name)
	if w.hash == hash && (own == w.fields || p.self.OlderThan(w.version)) {
		return Unchanged, nil // No other writer changed the patched fields.
	}
	var desired map[string]any
	if err := utiljson.Unmarshal(r.Patch, &desired); err != nil {
		return Unchanged, err
	}
	if owned := own.Set(); owned.Agrees(p.self.Content(), desired) && !owned.Exceeds(desired) {
		return Unchanged, nil
	}
	if err := w.rejected.stands(p, hash, ""); err != nil {
		return Unchanged, err
	}
	// A changed patch counts too: its inputs may depend on the fields that it
	// writes.
	now, wait, by := p.engine.clock.Now(), time.Duration(0), ""
	before := w.damper
	if w.hash == hash {
		wait, by = w.damper.repair(now), "another writer changed the fields that the rule patches"
	} else {
		wait = w.damper.churn.change(now)
	}
	if wait > 0 {
		return Unchanged, &conflictLoopError{object: p.req.String(), by: by, wait: wait}
	}
	if err := p.applyPatch(ctx, r.Rule, w, desired); err != nil {
		w.damper.uncount(before, err)
		return Unchanged, p.noteRejection(&w.rejected, hash, "", err)
	}
	w.hash = hash
	return Configured, nil
}

func (p *pass) unpatch(ctx context.Context, rule *rules.Rule) error {
	if p.self.PatchFields(rule.Name) == (managedfields.Entry{}) {
		return nil
	}
	w := p.memory.patch(rule.Name)
	if w.hash == [16]byte{} && p.self.OlderThan(w.version) {
		return nil // Already reverted, but the cache does not show it yet.
	}
	if err := p.applyPatch(ctx, rule, w, map[string]any{}); err != nil {
		return fmt.Errorf("rule %q: revert the patch: %w", rule.Name, err)
	}
	return nil
}

func (p *pass) applyPatch(ctx context.Context, rule *rules.Rule, w *writtenPatch, desired map[string]any) error {
	o, err := p.engine.patchPrimary(ctx, p.primary.watch, p.cache.Kind(), p.self, rule, desired)
	if err != nil {
		return err
	}
	*w = writtenPatch{fields: o.PatchFields(rule.Name), version: o.GetResourceVersion(), damper: w.damper}
	return nil
}

// patchPrimary applies a rule's patch to a primary. It returns the answer as the watch
// caches it, and nil without a watch.
func (e *Engine) patchPrimary(ctx context.Context, as *watch.Watch, k Kind, o *watch.Object, rule *rules.Rule, desired map[string]any) (*watch.Object, error) {
	u := applicationTo(k, o, desired)
	u.SetUID(o.GetUID()) // Prevents the apply from creating a deleted primary again.
	body, err := u.MarshalJSON()
	if err != nil {
		return nil, err
	}
	by := e.writer(rule, Request{Namespace: o.GetNamespace()}, k, o.GetNamespace())
	response, err := by.apply(ctx, as, "patch", o.GetName(), body, managedfields.PatchManager(rule.Name))
	if apierrors.IsConflict(err) || answer.IsAbsent(err) {
		return nil, errStale // The primary was deleted or replaced.
	}
	return response, classifyAnswer(err)
}

// applicationTo returns the body of an apply to an object.
func applicationTo(k Kind, o *watch.Object, desired map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: desired}
	u.SetGroupVersionKind(k.GVK)
	u.SetNamespace(o.GetNamespace())
	u.SetName(o.GetName())
	return u
}

// pruneOrphanedPatch reverts a removed rule's patch of the primary once the
// patches of all other rules are known.
func (p *pass) pruneOrphanedPatch(ctx context.Context, rule *rules.Rule) (why string, err error) {
	for i := range p.rendering.Rules {
		if r := &p.rendering.Rules[i]; !r.Teardown && r.Rule.Patches() && (r.Err != nil || r.PatchErr != nil || len(r.PatchWaits) > 0) {
			return "another rule also patches it, and that patch is not known yet", nil
		}
	}
	if p.self.PatchFields(rule.Name) == (managedfields.Entry{}) {
		return "", nil
	}
	if err := p.unpatch(ctx, rule); err != nil {
		return "", err
	}
	p.engine.log.Info("reverted the patch of a removed rule", "object", p.req.String(), "rule", rule.Name)
	return "", nil
}

// revertPatch reverts a removed rule's patch of a primary without a
// reconciliation of that primary.
func (e *Engine) revertPatch(ctx context.Context, k Kind, o *watch.Object, rule *rules.Rule) error {
	_, err := e.patchPrimary(ctx, nil, k, o, rule, map[string]any{})
	if err == nil {
		e.log.Info("reverted the patch of a removed rule", "object", subjectOf(k, o), "rule", rule.Name)
	}
	return err
}

// patch returns the entry of a rule's patch and adds it when missing.
func (m *memory) patch(rule string) *writtenPatch {
	w := m.patches[rule]
	if w == nil {
		w = &writtenPatch{}
		if m.patches == nil {
			m.patches = map[string]*writtenPatch{}
		}
		m.patches[rule] = w
	}
	return w
}
