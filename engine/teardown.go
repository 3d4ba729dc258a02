package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"reconcel/engine/answer"
	"reconcel/engine/discover"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// A remaining is an object that must be deleted before its primary.
type remaining struct {
	kind   Kind
	object *watch.Object
	stage  int // lower stages are deleted first
}

// tearDown deletes the rule's objects stage by stage. A stage starts when all
// objects of the stage before it are gone. Within a stage, sequences are deleted one
// object after another.
func (p *pass) tearDown(ctx context.Context, r *rules.RuleResult) outcome {
	all, err := p.remains(r.Rule), error(nil)
	if len(all) == 0 {
		all, err = p.remainsUnlabelled(ctx, r)
	}
	if err != nil {
		return p.outcomeOf(position{rule: r.Rule.Name}.wrap(err))
	}
	if len(all) == 0 {
		return outcome{}
	}
	slices.SortStableFunc(all, func(a, b remaining) int {
		return cmp.Or(cmp.Compare(a.stage, b.stage), cmp.Compare(a.object.GetName(), b.object.GetName()))
	})
	at, total := position{rule: r.Rule.Name}, outcome{}
	var names []string
	now, _ := due(all)
	for _, c := range now {
		subject := subjectOf(c.kind, c.object)
		if err := p.deleteInStage(ctx, r.Rule, c); err != nil {
			total = worse(total, p.outcomeOf(at.wrap(fmt.Errorf("delete %s: %w", subject, err))))
		}
		if !p.hasLeft(c) {
			names = append(names, subject)
		}
	}
	if len(names) == 0 {
		return p.tearDown(ctx, r) // Others share the objects: nothing to wait for.
	}
	return worse(at.says(waiting, reasonDeleting, "waits for the deletion of %s", joinFirst(names)), total).after(terminatingWait)
}

// deleteInStage requests the deletion of one object.
func (p *pass) deleteInStage(ctx context.Context, rule *rules.Rule, c remaining) error {
	if p.leaves(c.object) {
		return nil
	}
	deleted, err := p.removeConfirmed(ctx, rule, c.kind, c.object, propagation(rule, c.object))
	if deleted {
		p.memory.child(c.object.Identity(c.kind.GVK)).removed = true
	}
	switch {
	case !deleted:
	case p.self.Terminating():
		p.engine.logAction(Deleted, p.req, c.object.Identity(c.kind.GVK), rule.Name, whyEnded)
	default:
		p.pruned(c.kind, c.object)
	}
	return err
}

// hasLeft reports whether the primary no longer has a part in an object that others share.
func (p *pass) hasLeft(c remaining) bool {
	o := p.live(c.object.Identity(c.kind.GVK))
	return o != nil && o.GetUID() == c.object.GetUID() && !o.BelongsTo(p.req)
}

// remains lists the rule's objects that must be deleted with the primary. Two
// watches may show one object in two versions of its kind, so it skips
// duplicates.
func (p *pass) remains(rule *rules.Rule) (all []remaining) {
	seen := map[types.UID]bool{}
	for k, o := range p.madeBy(rule) {
		if seen[o.GetUID()] || outlivesPrimary(rule, o) || p.orphaning() && !isEntry(rule, o.Child()) || p.renderedByAnother(rule, o.Identity(k.GVK)) {
			continue
		}
		seen[o.GetUID()] = true
		all = append(all, remaining{k, o, stageOf(rule, o.Child())})
	}
	return all
}

// remainsUnlabelled lists the primary's objects that no watch shows because another
// writer removed their labels. It reads the rendered objects live, except those that
// this process has deleted.
func (p *pass) remainsUnlabelled(ctx context.Context, r *rules.RuleResult) (all []remaining, err error) {
	for i := range r.Children {
		c := &r.Children[i]
		for j := range c.Objects {
			d := &c.Objects[j]
			if d.Identity.Name == "" || c.Child.OnDelete == rules.Orphan || p.orphaning() && c.Child.Timeout == 0 || p.renderedByAnother(r.Rule, d.Identity) {
				continue
			}
			k, err := p.writableKind(d)
			if err != nil {
				continue // It was never written.
			}
			if w := p.memory.find(d.Identity); w != nil && w.removed {
				continue
			}
			existing, err := p.get(ctx, k, d.Identity)
			if answer.IsAbsent(err) {
				continue
			}
			if err != nil {
				return nil, err
			}
			if o := watch.NewObject(existing, watch.Child); o.BelongsTo(p.req) && !o.Orphan() {
				all = append(all, remaining{k, o, stageOf(r.Rule, c.Child.ID)})
			}
		}
	}
	return all, nil
}

// renderedByAnother reports whether another rule that still matches the primary renders
// the object.
func (p *pass) renderedByAnother(rule *rules.Rule, id rules.Identity) bool {
	for i := range p.rendering.Rules {
		r := &p.rendering.Rules[i]
		if r.Rule != rule && r.Matches && !r.Teardown && rendersObject(r, id) {
			return true
		}
	}
	return false
}

// stageOf returns the teardown stage of an object. Objects of children that the
// rule no longer has come first. Then dependents come before their dependencies.
// The entries of finalize come last.
func stageOf(rule *rules.Rule, child string) int {
	i := slices.IndexFunc(rule.Children, func(c *rules.Child) bool { return c.ID == child })
	switch {
	case isEntry(rule, child):
		return len(rule.Children) + 1
	case i < 0 || !rule.Ordered:
		return 0
	}
	return len(rule.Children) - i
}

// pruneStageOf is stageOf for objects that are deleted while the primary stays.
func pruneStageOf(rule *rules.Rule, child string) int {
	if !rule.Ordered {
		return 0
	}
	return stageOf(rule, child)
}

// isEntry reports whether a child is an entry of finalize.
func isEntry(rule *rules.Rule, child string) bool {
	return slices.ContainsFunc(rule.Children, func(c *rules.Child) bool { return c.ID == child && c.Timeout > 0 })
}

// outlivesPrimary reports whether an object stays when its primary is deleted.
func outlivesPrimary(rule *rules.Rule, o *watch.Object) bool {
	return o.Orphan() || slices.ContainsFunc(rule.Children, func(c *rules.Child) bool {
		return c.OnDelete == rules.Orphan && c.ID == o.Child()
	})
}

// unlisted returns the first kind that has no cache and of which the rule may
// have created objects, and why. A kind that is gone has no objects.
func (p *pass) unlisted(ctx context.Context, r *rules.Rule) (kind, why string) {
	for _, w := range p.primary.byRule[r] {
		c, err := w.Cache()
		if err == nil {
			err = c.UnlistedFor(r, p.req.Namespace)
		}
		if err == nil {
			continue
		}
		if discover.IsNoKind(err) {
			gk := w.GVK.GroupKind()
			_, other := discover.AnyVersion(ctx, p.engine.kinds, gk)
			gone, unsure := p.engine.judgeMissing(ctx, gk, other)
			if gone {
				continue
			}
			if unsure != nil {
				err = unsure
			}
		}
		return w.GVK.Kind, err.Error()
	}
	return "", ""
}
