package access

import (
	"iter"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/engine/decide"
	"reconcel/engine/ident"
	"reconcel/engine/outcome"
	"reconcel/engine/plan"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// Leaves reports whether an object is being deleted.
func (p *View) Leaves(o *watch.Object) bool {
	return o.Terminating() || p.Memory.HasDeleted(o.GetUID())
}

// MadeBy returns the primary's objects that a rule created, apart from those of other
// installations.
func (p *View) MadeBy(rule *rules.Rule) iter.Seq2[ident.Kind, *watch.Object] {
	return func(yield func(ident.Kind, *watch.Object) bool) {
		for _, w := range p.Primary.ByRule[rule] {
			c, err := w.Cache()
			if err != nil {
				continue // A kind of earlier rules that the API server does not serve.
			}
			for o := range p.objectsOf(c) {
				if o.Rule() == rule.Name && !p.Cluster.OfOtherInstallation(o, p.Admitted.OwnersOf(rule.Name)) &&
					!yield(c.Kind(), o) {
					return
				}
			}
		}
	}
}

// MayNeed returns why an orphaned object stays, or "".
func (p *View) MayNeed(l *plan.OrphanedObject, id rules.Identity) (why string) {
	switch kept, wanted := p.keptOrWanted(id); {
	case kept:
		return plan.KeptByAnother
	case wanted:
		return "another rule renders it"
	case p.Rendering.MayRender(l.Rule, l.Object.Child(), id) != "", p.incomplete(l.Object.Child(), id.GVK.GroupKind()):
		return "another rule may render it, which is not known yet"
	}
	return ""
}

// incomplete reports whether a collection of interchangeable objects, rendered from
// a child with this id and kind, still lacks objects. Until all of them exist, an
// orphaned object of the collection may be the only one and must not be deleted.
func (p *View) incomplete(child string, gk schema.GroupKind) bool {
	missing := func(d rules.Desired) bool { return d.State == rules.Rendered && p.Live(d.Identity) == nil }
	for i := range p.Rendering.Rules {
		r := &p.Rendering.Rules[i]
		if !r.Teardown && slices.ContainsFunc(r.Children, func(c rules.ChildResult) bool {
			return c.Child.HasReplicas() && c.Child.ID == child && c.Child.GVK.GroupKind() == gk &&
				slices.ContainsFunc(c.Objects, missing)
		}) {
			return true
		}
	}
	return false
}

// Orphaning reports whether the primary is being deleted without its children.
func (p *View) Orphaning() bool { return p.Self.Terminating() && p.Memory.Orphaning.Load() }

// Unjudged reports whether a rule has to wait until its objects are checked, and the
// outcome for that time.
func (p *View) Unjudged(r *rules.RuleResult) (outcome.Outcome, bool) {
	if !p.Admitted.Unchecked(p.Primary, r.Rule) {
		return outcome.Outcome{}, false
	}
	p.Primary.Plan.AskCheck()
	return outcome.Position{Rule: r.Rule.Name}.Says(outcome.Waiting, outcome.ReasonWaiting,
		"waits for the check whether its objects belong to another installation").After(outcome.StaleRetry), true
}

// Wants reports whether any rule renders the object for this primary, or would
// render it without an error or a wait. It ignores the version of the kind,
// because all versions show the same objects.
func (p *View) Wants(id rules.Identity) bool {
	if p.Wanted == nil && p.rendersMany() {
		p.Wanted = map[plan.ObjectKey]bool{}
		for i := range p.Rendering.Rules {
			for j := range p.Rendering.Rules[i].Children {
				for other := range plan.WantedOf(&p.Rendering.Rules[i].Children[j]) {
					p.Wanted[plan.KeyOf(other)] = true
				}
			}
		}
	}
	if p.Wanted != nil {
		return p.Wanted[plan.KeyOf(id)]
	}
	return slices.ContainsFunc(p.Rendering.Rules, func(r rules.RuleResult) bool { return plan.RendersObject(&r, id) })
}

// rendersMany reports whether the rules render more objects than a linear search suits.
func (p *View) rendersMany() bool {
	count := 0
	for i := range p.Rendering.Rules {
		count += plan.CountRendered(&p.Rendering.Rules[i])
	}
	return count > Few
}

// keptOrWanted reports whether a rule keeps an existing object unchanged, and
// whether a rule renders it.
func (p *View) keptOrWanted(id rules.Identity) (kept, wanted bool) {
	if !p.Wants(id) {
		return false, false
	}
	for i := range p.Rendering.Rules {
		if slices.ContainsFunc(p.Rendering.Rules[i].Children,
			func(c rules.ChildResult) bool { return decide.KeepsExisting(c.Child) && plan.WantsObject(&c, id) }) {
			return true, true
		}
	}
	return false, true
}
