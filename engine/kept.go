package engine

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/rules"
)

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

// keptCondition says which objects stay though no rule renders them. ok is false
// if there are none.
func (p *pass) keptCondition() (c rules.Condition, ok bool) {
	if len(p.kept) == 0 {
		return c, false
	}
	c = rules.Condition{Type: conditionKept, Status: rules.True, Reason: reasonOrphaned}
	var order []string
	objects := map[string][]string{}
	for _, s := range p.kept {
		if !s.orphan {
			c.Reason = reasonUndecided
		}
		if objects[s.why] == nil {
			order = append(order, s.why)
		}
		objects[s.why] = append(objects[s.why], s.object)
	}
	slices.Sort(order)
	var words []string
	for _, why := range order {
		slices.Sort(objects[why])
		words = append(words, strings.Join(slices.Compact(objects[why]), ", ")+": "+why)
	}
	c.Message = limited(strings.Join(words, "; "), mostFailure)
	return c, true
}

// reportKept tells people of objects that stay, once for each set of them. What
// stayed already when this process came is no news.
func (p *pass) reportKept() {
	c, _ := p.keptCondition()
	m := p.memory
	known := m.looked
	m.looked = true
	if m.kept == c.Message {
		return
	}
	m.kept = c.Message
	if c.Message == "" || !known || liveConditions(p.self.Object)[conditionKept]["message"] == c.Message {
		return
	}
	p.engine.log.Info("objects kept", "object", p.req.String(), "message", c.Message)
	p.engine.events.normal(p.self, reasonKept, "kept although no rule renders it: "+c.Message)
}
