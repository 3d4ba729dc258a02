package engine

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"

	"reconcel/engine/watch"
	"reconcel/rules"
)

// prune deletes the children of one rule that no rule of the primary renders.
// It decides for each object alone: a child that waits does not keep the objects
// of another child, and a failed delete does not stop the others. The outcome
// lists the kept objects.
//
// A replaced object is only deleted when its successor exists. failed has the
// children that could not be written.
func (p *pass) prune(ctx context.Context, r *rules.RuleResult, failed []*rules.Child) outcome {
	var kept []keptObject
	var all []remaining
	objects := 0
	for k, o := range p.madeBy(r.Rule) {
		objects++
		id := o.Identity(k.GVK)
		if p.wants(id) {
			continue
		}
		if !p.leaves(o) {
			if k := p.keeping(r, o, id, failed); k.why != "" {
				kept = append(kept, k)
				p.findings.keeps(k)
				continue
			}
		}
		all = append(all, remaining{k, o, pruneStageOf(r.Rule, o.Child())})
	}
	all, spare := p.spareExcluded(r, all, objects)
	for _, k := range spare {
		kept = append(kept, k)
		p.findings.keeps(k)
	}
	total := p.pruneDue(ctx, r.Rule, all)
	total.kept = kept
	return total
}

// spareExcluded keeps the objects of children without a when that are excluded together with a child that they read, if
// they are more than the rule may delete: nothing in the rules says that a change of the primary deletes them.
func (p *pass) spareExcluded(r *rules.RuleResult, all []remaining, objects int) (rest []remaining, spare []keptObject) {
	if r.Teardown {
		return all, nil
	}
	for _, c := range all {
		id := c.object.Identity(c.kind.GVK)
		with := ""
		if !p.leaves(c.object) {
			with = r.ExcludedWith(c.object.Child(), id)
		}
		if with == "" {
			rest = append(rest, c)
			continue
		}
		spare = append(spare, keptObject{rule: r.Rule.Name, child: c.object.Child(), id: id,
			why: fmt.Sprintf("child %q has no when, but %s; to delete it, give it the same when, or raise maxDeletions", c.object.Child(), with)})
	}
	if len(spare) <= p.engine.mostDeletions(r.Rule, objects) {
		return all, nil
	}
	return rest, spare
}

// leaves reports whether an object is being deleted.
func (p *pass) leaves(o *watch.Object) bool {
	return o.Terminating() || p.memory.hasDeleted(o.GetUID())
}

// pruneDue deletes those of the objects whose deletion waits for no other one.
func (p *pass) pruneDue(ctx context.Context, rule *rules.Rule, all []remaining) outcome {
	if len(all) == 0 {
		return outcome{}
	}
	var problem error
	now, later := due(all)
	for _, c := range now {
		if p.leaves(c.object) {
			continue
		}
		if err := p.remove(ctx, rule, c.kind, c.object); err != nil {
			problem = cmp.Or(problem, fmt.Errorf("rule %q: prune %s: %w", rule.Name, subjectOf(c.kind, c.object), err))
		}
	}
	total := p.outcomeOf(problem)
	if len(later) == 0 {
		return total
	}
	var names []string
	for _, c := range now {
		if rule.Ordered || indexOf(c.object) >= 0 {
			names = append(names, subjectOf(c.kind, c.object))
		}
	}
	p.findings.deletesLater(rule, later)
	return worse(total, position{rule: rule.Name}.says(waiting, reasonWaiting,
		"waits for the deletion of %s, and then deletes %d more, one after another", joinFirst(names), len(later)).after(terminatingWait))
}

// madeBy returns the primary's objects that a rule created, apart from those of other
// installations.
func (p *pass) madeBy(rule *rules.Rule) iter.Seq2[Kind, *watch.Object] {
	return func(yield func(Kind, *watch.Object) bool) {
		for _, w := range p.primary.byRule[rule] {
			c, err := w.Cache()
			if err != nil {
				continue // A kind of earlier rules that the API server does not serve.
			}
			for o := range p.objectsOf(c) {
				if o.Rule() == rule.Name && !p.engine.ofOtherInstallation(o, p.verdict.ownersOf(rule.Name)) && !yield(c.Kind(), o) {
					return
				}
			}
		}
	}
}

// A keptObject is an object that no rule renders and that is not deleted.
type keptObject struct {
	rule, child string
	id          rules.Identity
	why         string
	orphan      bool // kept permanently, by onDelete: orphan
}

// keeping returns why an object that no rule renders is kept. An empty reason
// means that prune deletes it. Objects that the rule orphans are never deleted.
// Objects that may still be rendered or have no successor yet are kept for now.
func (p *pass) keeping(r *rules.RuleResult, o *watch.Object, id rules.Identity, failed []*rules.Child) keptObject {
	k := keptObject{rule: r.Rule.Name, child: o.Child(), id: id}
	if staysAfter(r.Rule, o) {
		k.why, k.orphan = "onDelete: orphan", true
		return k
	}
	if k.why = p.rendering.MayRender(r.Rule, o.Child(), id); k.why == "" && r.Matches {
		k.why = p.awaited(r, o, id, failed)
	}
	return k
}

// awaited names the child that replaces an object but has no object yet. The old
// object is kept until then, because a failure must never leave fewer objects
// than before. If the rule still has the object's child, only its name changed,
// and the child is the replacement. Otherwise the child may have been renamed to
// any failed child of the same kind.
func (p *pass) awaited(r *rules.RuleResult, o *watch.Object, id rules.Identity, failed []*rules.Child) (why string) {
	own := slices.ContainsFunc(r.Rule.Children, func(c *rules.Child) bool { return c.ID == o.Child() })
	for i := range r.Children {
		c := &r.Children[i]
		if own && c.Child.ID != o.Child() || !own && !childFails(c, failed) || c.Child.HasReplicas() || !c.Renders(id.GVK.GroupKind()) {
			continue
		}
		if !slices.ContainsFunc(c.Objects, func(d rules.Desired) bool { return p.made(d.Identity, c.Child.ID, o.Child()) }) {
			return fmt.Sprintf("child %q may replace it and does not exist yet", c.Child.ID)
		}
	}
	return ""
}

// made reports whether an object exists that was created from one of the
// children.
func (p *pass) made(id rules.Identity, children ...string) bool {
	live := p.observed(id).Object
	return live != nil && slices.Contains(children, rules.LabelsOf(live).Get(rules.LabelChild))
}

func childFails(c *rules.ChildResult, failed []*rules.Child) bool {
	return slices.Contains(failed, c.Child) ||
		slices.ContainsFunc(c.Objects, func(d rules.Desired) bool { return d.State == rules.Failed })
}
