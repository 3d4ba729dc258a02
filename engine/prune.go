package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/rules"
)

// A cause is why children are removed.
type cause int

const (
	rendering cause = iota // the rule no longer renders them
	leaving                // the rule is no longer for the primary, which goes on to live
)

// prune deletes the children of one rule that no rule of the primary renders,
// as far as that is known of each: what a child waits for keeps no object of
// another. What stays is noted. An object that cannot be deleted keeps nothing
// else.
func (p *pass) prune(ctx context.Context, r *rules.RuleResult, why cause) (failed error) {
	for _, w := range p.primary.watchesOf(r.Rule) {
		c := w.cached.Load()
		if c == nil {
			continue // A kind of former rules that the API server does not know.
		}
		for _, item := range p.objectsOf(c) {
			o := item.(*object)
			id := o.identity(c.kind.GVK)
			if o.rule() != r.Rule.Name || o.terminating() || p.memory.hasDeleted(o.GetUID()) || p.wants(id) || p.engine.elsewhere(o, p.verdict.ownersOf(r.Rule.Name)) {
				continue
			}
			if stay := p.staying(r, o, id, why); stay.why != "" {
				p.kept = append(p.kept, stay)
				continue
			}
			if err := p.remove(ctx, r.Rule, c.kind, o); err != nil {
				failed = cmp.Or(failed, fmt.Errorf("rule %q: prune %s: %w", r.Rule.Name, id.String(), err))
			}
		}
	}
	return failed
}

// A stay is an object that no rule renders and that is not deleted.
type stay struct {
	object string // Kind/namespace/name
	why    string
	orphan bool // it is kept for good
}

// staying says why an object of a rule stays that no rule renders: the zero
// value means that it goes. What the rule orphans is never deleted. What may
// still be rendered, or has no successor yet, is kept for now.
func (p *pass) staying(r *rules.RuleResult, o *object, id rules.Identity, why cause) stay {
	s := stay{object: id.String()}
	if stays(r.Rule, o) {
		s.why, s.orphan = "onDelete: orphan", true
		return s
	}
	if s.why = p.rendering.MayRender(r.Rule, o.child(), id); s.why == "" && why == rendering {
		s.why = p.awaited(r, o, id)
	}
	return s
}

// awaited names the child that takes the place of an object and of which nothing
// exists yet: a failure must never leave less than there was before. That child
// is the object's own, if its names have changed. Where the rule has no such child
// any more, it may have been renamed into any of the kind that fails.
func (p *pass) awaited(r *rules.RuleResult, o *object, id rules.Identity) (why string) {
	own := slices.ContainsFunc(r.Rule.Children, func(c *rules.Child) bool { return c.ID == o.child() })
	for i := range r.Children {
		c := &r.Children[i]
		if own && c.Child.ID != o.child() || !own && !p.fails(c) || c.Child.Interchangeable() || !c.Renders(id.GVK.GroupKind()) {
			continue
		}
		if !slices.ContainsFunc(c.Objects, func(d rules.Desired) bool { return p.made(d.Identity, c.Child.ID, o.child()) }) {
			return fmt.Sprintf("child %q may replace it and does not exist yet", c.Child.ID)
		}
	}
	return ""
}

// made reports whether an object exists that was made from one of some children.
func (p *pass) made(id rules.Identity, children ...string) bool {
	live := p.observed(id).Object
	return live != nil && slices.Contains(children, (&object{Unstructured: unstructured.Unstructured{Object: live}}).child())
}

// fails reports whether a child could not be rendered or written in this pass.
func (p *pass) fails(c *rules.ChildResult) bool {
	return slices.Contains(p.failing, c.Child) ||
		slices.ContainsFunc(c.Objects, func(d rules.Desired) bool { return d.State == rules.Failed })
}
