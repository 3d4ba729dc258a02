package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"reconcel/engine/answer"
	"reconcel/engine/managedfields"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// A patcher is who patches primaries: a rule, or reconcel itself.
type patcher struct {
	rule    *rules.Rule // has only a name or nothing, if it is not a loaded rule
	manager string
}

// patcherOf returns the patcher of a rule's patch.
func patcherOf(rule *rules.Rule) patcher { return patcher{rule, managedfields.PatchManager(rule.Name)} }

// owned returns the managedFields entry of the patch on a primary.
func (by patcher) owned(o *watch.Object) managedfields.Entry { return o.PatchFields(by.manager) }

// hasPatched reports whether a primary has fields of the patch.
func (by patcher) hasPatched(o *watch.Object) bool { return by.owned(o) != (managedfields.Entry{}) }

// writtenPatch is our last write of one patch of the primary.
type writtenPatch struct {
	hash     [16]byte            // of the patch; zero: not written, or reverted
	fields   managedfields.Entry // the fields that we owned after the write
	version  string              // resourceVersion of the response
	schema   checkedSchema
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
		return p.outcomeOf(p.revert(ctx, r.Rule)) // An earlier version of the rule may have had a patch.
	}
	did, err := p.ensurePatch(ctx, patcherOf(r.Rule), r.Patch)
	switch {
	case err != nil:
		return p.outcomeOf(position{rule: r.Rule.Name, subject: "patch"}.wrap(err))
	case did == Configured:
		return position{rule: r.Rule.Name, subject: "patch"}.says(progressing, reasonProgressing, "applied")
	}
	return outcome{}
}

// ensurePatch applies the fields of a patch, JSON, unless the primary has them.
func (p *pass) ensurePatch(ctx context.Context, by patcher, fields []byte) (Action, error) {
	w, hash := p.memory.patch(by.manager), patchHash(fields)
	desired, err := p.missingPatch(by, fields)
	if desired == nil || err != nil {
		return Unchanged, err
	}
	if err := w.rejected.stands(p, hash, ""); err != nil {
		return Unchanged, err
	}
	// A changed patch counts too: its inputs may depend on the fields that it
	// writes.
	now, wait, culprit := p.engine.clock.Now(), time.Duration(0), ""
	before := w.damper
	if w.hash == hash {
		wait, culprit = w.damper.repair(now), "another writer changed the fields that reconcel patches"
	} else {
		wait = w.damper.change(now)
	}
	if wait > 0 {
		return Unchanged, &conflictLoopError{object: p.req.String(), by: culprit, wait: wait}
	}
	if err := p.applyPatch(ctx, by, w, desired); err != nil {
		w.damper.uncount(before, err)
		return Unchanged, p.noteRejection(&w.rejected, hash, "", err)
	}
	w.hash = hash
	return Configured, nil
}

func patchHash(fields []byte) [16]byte {
	sum := sha256.Sum256(fields)
	return [16]byte(sum[:16])
}

// missingPatch returns the fields of a patch, or nil if the primary has them and no others
// of an earlier version.
func (p *pass) missingPatch(by patcher, fields []byte) (desired map[string]any, err error) {
	w, own := p.memory.patch(by.manager), by.owned(p.self)
	moves := p.self.Moves(by.manager)
	if w.hash == patchHash(fields) && (own == w.fields && !moves && !w.schema.predates(p.cache.Granular(), own, nil) || p.self.OlderThan(w.version)) {
		return nil, nil // No other writer changed the patched fields.
	}
	if err := utiljson.Unmarshal(fields, &desired); err != nil {
		return nil, err
	}
	rendering := func() map[string]any { return desired }
	if owned := own.Set(); !moves && !w.schema.predates(p.cache.Granular(), own, rendering) && owned.Agrees(p.self.Content(), desired) && !owned.Exceeds(desired) {
		return nil, nil
	}
	return desired, nil
}

// revert removes the fields of a rule's patch from the primary.
func (p *pass) revert(ctx context.Context, rule *rules.Rule) error {
	if !p.self.Patched() {
		return nil // Names of managers need not be composed for most primaries.
	}
	if err := p.unpatch(ctx, patcherOf(rule)); err != nil {
		return fmt.Errorf("rule %q: revert the patch: %w", rule.Name, err)
	}
	return nil
}

func (p *pass) unpatch(ctx context.Context, by patcher) error {
	if !by.hasPatched(p.self) {
		return nil
	}
	w := p.memory.patch(by.manager)
	if w.hash == [16]byte{} && p.self.OlderThan(w.version) {
		return nil // Already reverted, but the cache does not show it yet.
	}
	return p.applyPatch(ctx, by, w, map[string]any{})
}

func (p *pass) applyPatch(ctx context.Context, by patcher, w *writtenPatch, desired map[string]any) error {
	before := cmp.Or(w.fields, by.owned(p.self))
	apply := func() (*watch.Object, error) {
		return p.engine.patchPrimary(ctx, p.primary.watch, p.cache.Kind(), p.self, by, desired)
	}
	o, err := apply()
	var divided []fieldpath.Path
	if err == nil {
		divided = w.schema.divided(p.cache.Granular(), before, by.owned(o))
	}
	if len(divided) > 0 || apierrors.IsInvalid(err) {
		var removed bool
		if removed, err = p.removeLeft(ctx, managedfields.Applier{Name: by.manager}, desired, divided, err); removed {
			o, err = apply()
		}
	}
	if err != nil {
		return err
	}
	*w = writtenPatch{fields: by.owned(o), version: o.GetResourceVersion(), schema: w.schema, damper: w.damper}
	return nil
}

// patchPrimary applies a patch to a primary. It returns the answer as the watch
// caches it, and nil without a watch.
func (e *Engine) patchPrimary(ctx context.Context, as *watch.Watch, k Kind, o *watch.Object, by patcher, desired map[string]any) (*watch.Object, error) {
	u := applicationTo(k, o, desired)
	u.SetUID(o.GetUID()) // Prevents the apply from creating a deleted primary again.
	body, err := u.MarshalJSON()
	if err != nil {
		return nil, err
	}
	writer := e.writer(by.rule, Request{Namespace: o.GetNamespace()}, k, o.GetNamespace())
	response, err := writer.apply(ctx, as, "patch", o.GetName(), body, by.manager)
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
	if !patcherOf(rule).hasPatched(p.self) {
		return "", nil
	}
	if err := p.revert(ctx, rule); err != nil {
		return "", err
	}
	p.engine.log.Info("reverted the patch of a removed rule", "object", p.req.String(), "rule", rule.Name)
	return "", nil
}

// revertPatch reverts a removed rule's patch of a primary without a
// reconciliation of that primary.
func (e *Engine) revertPatch(ctx context.Context, k Kind, o *watch.Object, rule *rules.Rule) error {
	_, err := e.patchPrimary(ctx, nil, k, o, patcherOf(rule), map[string]any{})
	if err == nil {
		e.log.Info("reverted the patch of a removed rule", "object", subjectOf(k, o), "rule", rule.Name)
	}
	return err
}

// patch returns the entry of a manager's patch and adds it when missing.
func (m *memory) patch(manager string) *writtenPatch {
	w := m.patches[manager]
	if w == nil {
		w = &writtenPatch{}
		if m.patches == nil {
			m.patches = map[string]*writtenPatch{}
		}
		m.patches[manager] = w
	}
	return w
}
