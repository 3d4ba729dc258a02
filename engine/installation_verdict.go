package engine

import (
	"slices"

	"reconcel/engine/inventory"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// A verdict says which rules of a plan this process must not touch, since
// another installation has a rule of the same name for the same kind. It is
// reached before anything is written, and does not change.
type verdict struct {
	refused map[*rules.Rule]refusedRule
	// takenOver are the installations, by rule, whose objects belong to this one now.
	takenOver map[string][]string
	checked   map[*watch.Watch]extent // the objects that were looked at
}

// An extent is what a watch had listed at a time: a cache, and how many of its
// namespaces were listed.
type extent struct {
	cache      *watch.Cache
	namespaces int
}

// extentOf returns what a watch has listed, and false if that is nothing.
func extentOf(w *watch.Watch) (extent, bool) {
	c, err := w.Cache()
	if err != nil {
		return extent{}, false
	}
	return extent{cache: c, namespaces: c.Listed()}, true
}

// A refusedRule says why nothing is done for a rule.
type refusedRule struct {
	key     string // the same as long as the situation is
	message string
}

// refuses reports whether nothing is done for a rule.
func (v *verdict) refuses(r *rules.Rule) bool {
	if v == nil {
		return false
	}
	_, refused := v.refused[r]
	return refused
}

// why says why nothing is done for a rule, or is "".
func (v *verdict) why(r *rules.Rule) string {
	if v == nil {
		return ""
	}
	return v.refused[r].message
}

// unchecked reports whether a cache has come whose objects nobody has looked at:
// they may belong to another installation.
func (v *verdict) unchecked(pk *primaryKind, r *rules.Rule) bool {
	if v == nil {
		return false
	}
	for _, w := range pk.byRule[r] {
		if l, ok := extentOf(w); ok && v.checked[w] != l {
			return true
		}
	}
	return false
}

// inherits reports whether an object of a rule has the mark of an installation
// that was taken over.
func (v *verdict) inherits(o *watch.Object) bool {
	return v != nil && len(v.takenOver) > 0 && slices.Contains(v.takenOver[o.Rule()], o.Installation())
}

// ownersOf returns the installations, besides this one, whose objects of a rule
// belong to this one now.
func (v *verdict) ownersOf(rule string) []string {
	if v == nil {
		return nil
	}
	return v.takenOver[rule]
}

// refusesAll reports whether nothing is done for any rule of the kind.
func (v *verdict) refusesAll(pk *primaryKind) bool {
	return v != nil && len(v.refused) > 0 && !slices.ContainsFunc(pk.Rules, func(r *rules.Rule) bool { return !v.refuses(r) })
}

// refusesAny reports whether nothing is done for some rule of the kind.
func (v *verdict) refusesAny(pk *primaryKind) bool {
	return v != nil && len(v.refused) > 0 && slices.ContainsFunc(pk.Rules, v.refuses)
}

// check is what the inventory needs to know of a verdict.
func (v *verdict) check() inventory.Check {
	return inventory.Check{Refuses: v.refuses, TakenOver: v.takenOver}
}

// unjudged reports whether a rule has to wait until its objects were checked, and
// what to say of that.
func (p *pass) unjudged(r *rules.RuleResult) (outcome, bool) {
	if !p.verdict.unchecked(p.primary, r.Rule) {
		return outcome{}, false
	}
	p.primary.askCheck()
	return position{rule: r.Rule.Name}.says(waiting, reasonWaiting,
		"waits for the check whether its objects belong to another installation").after(staleRetry), true
}
