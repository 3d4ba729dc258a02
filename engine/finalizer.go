package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/engine/answer"
	"reconcel/engine/managedfields"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// FinalizedPrefix begins the key of an annotation of the primary: all entries of
// finalize of a rule are done. The rest of the key is the rule's name. Without it the
// entries would be created again after teardown deleted them. The value is the
// primary's UID, so that a copy of the annotation has no effect.
const FinalizedPrefix = "finalized.reconcel.dev/"

// ensureFinalizer adds the rule's finalizer to the primary if it needs one, before any write
// that depends on it, and removes the finalizer if it is no longer needed. If another writer
// undoes that again and again, it does so more and more slowly.
func (p *pass) ensureFinalizer(ctx context.Context, r *rules.RuleResult) error {
	has, edit := p.self.HasFinalizer(r.Rule), p.release
	switch needs := r.NeedsFinalizer(); {
	case needs && !has, has && p.finalized(r.Rule):
		edit = p.addFinalizer
	case needs || !has || !p.dispensable(r):
		return nil
	}
	d := p.memory.finalizer(r.Rule.Name)
	before := *d
	if wait := d.repair(p.engine.clock.Now()); wait > 0 {
		return &conflictLoopError{
			object: p.req.String(), by: "another writer changed the finalizer " + rules.Finalizer(r.Rule.Name), wait: wait,
			remedy: "let that writer leave out metadata.finalizers",
		}
	}
	err := edit(ctx, r.Rule)
	d.uncount(before, err)
	return err
}

// addFinalizer adds the rule's finalizer. The annotation remains if a deselected primary matches again.
func (p *pass) addFinalizer(ctx context.Context, rule *rules.Rule) error {
	return p.editMetadata(ctx, p.withFinalizer(rule), map[string]any{FinalizedPrefix + rule.Name: nil})
}

// finalizer returns the damper of the edits of a rule's finalizer.
func (m *memory) finalizer(rule string) *damper {
	d := m.finalizers[rule]
	if d == nil {
		d = &damper{}
		if m.finalizers == nil {
			m.finalizers = map[string]*damper{}
		}
		m.finalizers[rule] = d
	}
	return d
}

// dispensable reports whether a live primary no longer needs the rule's finalizer.
func (p *pass) dispensable(r *rules.RuleResult) bool {
	for i := range r.Children {
		if s := r.Children[i].State; s != rules.Rendered && s != rules.Excluded {
			return false // A finalizer may be needed as soon as it can be rendered.
		}
	}
	return !slices.ContainsFunc(p.remains(r.Rule), func(c remaining) bool {
		_, controlled := c.object.Controller()
		return !controlled
	})
}

func (pk *primaryKind) hasFinalizer(self *watch.Object) bool {
	return slices.ContainsFunc(pk.Rules, self.HasFinalizer)
}

// finalized reports whether the rule's entries of finalize are done.
func (p *pass) finalized(rule *rules.Rule) bool {
	metadata, _ := p.self.Content()["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	return len(annotations) > 0 && annotations[FinalizedPrefix+rule.Name] == string(p.req.UID)
}

func (p *pass) markFinalized(ctx context.Context, rule *rules.Rule) error {
	return p.editMetadata(ctx, p.self.GetFinalizers(), map[string]any{FinalizedPrefix + rule.Name: string(p.req.UID)})
}

func (p *pass) withFinalizer(rule *rules.Rule) []string {
	list, own := p.self.GetFinalizers(), rules.Finalizer(rule.Name)
	if slices.Contains(list, own) {
		return list
	}
	return append(list, own)
}

// release removes the rule's finalizer. It succeeds if the primary is gone.
func (p *pass) release(ctx context.Context, rule *rules.Rule) error {
	finalizers, annotations := withoutFinalizer(p.self, rule.Name)
	err := p.editMetadata(ctx, finalizers, annotations)
	if p.gone {
		return nil
	}
	return err
}

// withoutFinalizer returns the change of metadata that removes the finalizer and the
// annotations of a rule.
func withoutFinalizer(o *watch.Object, rule string) (finalizers []string, annotations map[string]any) {
	rest := slices.DeleteFunc(o.GetFinalizers(), func(f string) bool { return f == rules.Finalizer(rule) })
	return rest, map[string]any{FinalizedPrefix + rule: nil, rules.DonePrefix + rule: nil}
}

// editMetadata sets the finalizers and some annotations of the primary in the state
// that this reconciliation has read. A null removes an annotation.
func (p *pass) editMetadata(ctx context.Context, finalizers []string, annotations map[string]any) error {
	o, err := p.engine.writeMetadata(ctx, p.primary.watch, p.cache.Kind(), p.self, finalizers, annotations)
	switch {
	case answer.IsAbsent(err):
		p.gone = true
		return errStale
	case apierrors.IsConflict(err):
		return errStale
	case err != nil:
		return fmt.Errorf("write metadata of %s: %w", p.req, classifyAnswer(err))
	}
	p.self, p.memory.self = o, o
	return stripped(p.req.String(), lostMetadata(o, finalizers, annotations))
}

// removeFinalizer removes the finalizer and the annotations of a rule from a primary in
// the state that was read, without a reconciliation.
func (e *Engine) removeFinalizer(ctx context.Context, k Kind, o *watch.Object, rule string) error {
	finalizers, annotations := withoutFinalizer(o, rule)
	_, err := e.writeMetadata(ctx, nil, k, o, finalizers, annotations)
	if answer.IsAbsent(err) {
		return nil
	}
	return err
}

// writeMetadata sets the finalizers and some annotations of a primary, unless it has
// changed since it was read. It returns the answer as the watch caches it, and nil without a
// watch.
func (e *Engine) writeMetadata(ctx context.Context, as *watch.Watch, k Kind, o *watch.Object, finalizers []string, annotations map[string]any) (*watch.Object, error) {
	if finalizers == nil {
		finalizers = []string{}
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": o.GetUID(), "resourceVersion": o.GetResourceVersion(), "finalizers": finalizers, "annotations": annotations,
	}})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	written, err := e.sender.Send(ctx, as, watch.Patch{
		Kind: k, Namespace: o.GetNamespace(), Name: o.GetName(), Type: types.MergePatchType, Body: body, Manager: managedfields.Manager,
	})
	if err == nil {
		e.metrics.wrote("patch", k)
	}
	return written, err
}
