package rules

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// MayHaveMoved reports whether an object of a kind, which a rule has made for the
// child of this id, may be what another rule renders now: its own rule has no
// such child any more, and the other one makes objects of the kind and could not
// say which. An error is never absence.
func (out *Rendering) MayHaveMoved(from *Rule, child string, gk schema.GroupKind) bool {
	if slices.ContainsFunc(from.Children, func(c *Child) bool { return c.ID == child }) {
		return false // Its own rule has decided.
	}
	return slices.ContainsFunc(out.Rules, func(r RuleResult) bool {
		return r.Rule != from && !r.Leaving && r.undecided(gk)
	})
}

// undecided reports whether it is not known which objects of a kind the rule is
// to make.
func (res *RuleResult) undecided(gk schema.GroupKind) bool {
	if res.Err != nil {
		return slices.ContainsFunc(res.Rule.Children, func(c *Child) bool { return c.GVK.GroupKind() == gk })
	}
	nameless := func(d Desired) bool { return d.State != Excluded && d.Identity.Name == "" }
	return slices.ContainsFunc(res.Children, func(c ChildResult) bool {
		return c.Child.GVK.GroupKind() == gk &&
			(c.State == Waiting || c.State == Failed || slices.ContainsFunc(c.Objects, nameless))
	})
}
