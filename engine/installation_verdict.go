package engine

import (
	"slices"

	"reconcel/engine/watch"
	"reconcel/rules"
)

// A verdict says which rules of a plan this process must not apply, because another
// installation has a rule of the same name for the same kind. It is computed before
// any write, and is immutable.
type verdict struct {
	refused map[*rules.Rule]refusedRule
	// takenOver has, by rule, the installations whose objects now belong to this one.
	takenOver map[string][]string
	checked   map[*watch.Watch]extent // the objects that were checked
}

// An extent is what a watch had listed at one time: a cache, and how many of its
// namespaces were listed.
type extent struct {
	cache      *watch.Cache
	namespaces int
}

// extentOf returns what a watch has listed, and false if it has listed nothing.
func extentOf(w *watch.Watch) (extent, bool) {
	c, err := w.Cache()
	if err != nil {
		return extent{}, false
	}
	return extent{cache: c, namespaces: c.Listed()}, true
}

// A refusedRule says why a rule is inactive.
type refusedRule struct {
	key     string // changes only when the situation does
	message string
}

func (v *verdict) refuses(r *rules.Rule) bool {
	if v == nil {
		return false
	}
	_, refused := v.refused[r]
	return refused
}

func (v *verdict) why(r *rules.Rule) string {
	if v == nil {
		return ""
	}
	return v.refused[r].message
}

// unchecked reports whether a cache has objects that were not checked: they may
// belong to another installation.
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

// inherits reports whether an object of a rule has the mark of an installation that
// was taken over.
func (v *verdict) inherits(o *watch.Object) bool {
	return v != nil && len(v.takenOver) > 0 && slices.Contains(v.takenOver[o.Rule()], o.Installation())
}

// ownersOf returns the other installations whose objects of a rule now belong to this
// one.
func (v *verdict) ownersOf(rule string) []string {
	if v == nil {
		return nil
	}
	return v.takenOver[rule]
}

func (v *verdict) refusesAll(pk *primaryKind) bool {
	return v != nil && len(v.refused) > 0 && !slices.ContainsFunc(pk.Rules, func(r *rules.Rule) bool { return !v.refuses(r) })
}

func (v *verdict) refusesAny(pk *primaryKind) bool {
	return v != nil && len(v.refused) > 0 && slices.ContainsFunc(pk.Rules, v.refuses)
}

// unjudged reports whether a rule has to wait until its objects are checked, and the
// outcome for that time.
func (p *pass) unjudged(r *rules.RuleResult) (outcome, bool) {
	if !p.verdict.unchecked(p.primary, r.Rule) {
		return outcome{}, false
	}
	p.primary.plan.askCheck()
	return position{rule: r.Rule.Name}.says(waiting, reasonWaiting,
		"waits for the check whether its objects belong to another installation").after(staleRetry), true
}
