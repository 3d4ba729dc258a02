package engine

import (
	"slices"

	"reconcel/engine/inventory"
	"reconcel/rules"
)

// suspends reports whether nothing of a rule is written: it is held, and the version that ran
// last is not known.
func (pl *plan) suspends(r *rules.Rule) bool {
	return pl.holds[ruleOf{r.Name, r.GVK.GroupKind()}].suspends
}

// check returns what the inventory needs to know about a plan.
func (pl *plan) check(v *verdict) inventory.Check {
	c := inventory.Check{
		Refuses:   func(r *rules.Rule) bool { return v.refuses(r) || pl.suspends(r) },
		TakenOver: v.takenOver, Used: pl.used, Held: map[inventory.Key]inventory.HeldChange{}, Rollouts: map[string]inventory.Rollout{},
	}
	for of, h := range pl.holds {
		key := inventory.Key{Rule: of.name, Kind: of.kind.String()}
		c.Held[key] = inventory.HeldChange{Rule: key.Rule, Kind: key.Kind, Hash: h.hash, Message: h.message}
	}
	for kind, ro := range pl.rollouts {
		c.Next = append(c.Next, pl.primaries[kind].next.Rules...)
		c.Rollouts[kind.String()] = ro.state()
	}
	return c
}

// keepHeld removes held rules from those whose objects and marks are removed.
func (pl *plan) keepHeld() {
	pl.orphaned.Removed = slices.DeleteFunc(pl.orphaned.Removed, func(r inventory.RemovedRule) bool {
		return pl.holds[ruleOf{r.Name, r.Primary()}].suspends
	})
	pl.orphaned.Finalizers = slices.DeleteFunc(pl.orphaned.Finalizers, func(f inventory.Finalizer) bool {
		return pl.holds[ruleOf{f.Rule, f.Primary()}].suspends
	})
}

// holdConditions returns a condition for each rule of the primary that is held.
func (p *pass) holdConditions() (all []rules.Condition) {
	for i := range p.rendering.Rules {
		r := &p.rendering.Rules[i]
		if h, held := p.primary.plan.holds[ruleOf{r.Rule.Name, p.req.Kind}]; held && p.manages(r) {
			all = append(all, rules.Condition{Type: conditionHeld, Status: rules.True, Reason: reasonHeld, Message: h.brief})
		}
	}
	return all
}

// reportHolds logs the rules that are held, and records Events. It repeats nothing.
func (e *Engine) reportHolds(pl *plan) {
	now := map[ruleOf]string{}
	for of, h := range pl.holds {
		if now[of] = h.hash; e.reportedHolds[of] == h.hash {
			continue
		}
		e.log.Warn("changed rule is held", "rule", of.name, "kind", of.kind.String(), "hash", h.hash, "message", h.message)
		e.reportRules(reasonHeld, "Reload", h.message)
	}
	for of := range e.reportedHolds {
		if _, still := now[of]; !still {
			e.log.Info("changed rule is no longer held", "rule", of.name, "kind", of.kind.String())
		}
	}
	e.reportedHolds = now
}
