package rules

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules/syntax"
)

// MayRender reports which child may still render an existing object that no child
// is known to render now. The object was created for the child of an id. The result
// is "" if no child may. A child that fails or waits may still render it: only a
// decision counts as absence.
//
// If the rule still has the child, only children of this rule may render the
// object: siblings of the same kind whose objects are not known yet. Otherwise,
// children of other rules may, too.
func (out *Rendering) MayRender(from *Rule, child string, id Identity) (why string) {
	decides := slices.ContainsFunc(from.Children, func(c *Child) bool { return c.ID == child })
	for i := range out.Rules {
		r := &out.Rules[i]
		if r.Teardown || decides && r.Rule != from {
			continue
		}
		if why := r.mayRender(child, id); why != "" {
			return why
		}
	}
	return ""
}

// MayRenderCondition reports whether the rule may still set a condition of a type that it
// does not set now, because the elements of a forEach are not known.
func (res *RuleResult) MayRenderCondition(typ string) bool {
	return slices.ContainsFunc(res.UndecidedConditions, func(i int) bool { return res.Rule.conditions[i].mayBe(typ) })
}

// MayRenderCondition reports whether the rule sets a condition of a type for some
// resource, as far as this is known without rendering.
func (r *Rule) MayRenderCondition(typ string) bool {
	return slices.ContainsFunc(r.conditions, func(k condition) bool { return k.mayBe(typ) })
}

// mayBe reports whether the condition may have a type.
func (k *condition) mayBe(typ string) bool {
	return syntax.InvalidConditionType(typ) == "" && k.typ.mayBe(typ)
}

// mayRender is MayRender for one rule.
func (res *RuleResult) mayRender(child string, id Identity) (why string) {
	if res.Err != nil {
		for _, c := range res.Rule.Children {
			if c.mayBe(child, id) {
				return fmt.Sprintf("child %q of rule %q may render it, and the rule fails", c.ID, res.Rule.Name)
			}
		}
		return ""
	}
	for i := range res.Children {
		if c := &res.Children[i]; c.Child.mayBe(child, id) {
			if what := c.undecided(); what != "" {
				return fmt.Sprintf("child %q may render it, and %s", c.Child.ID, what)
			}
		}
	}
	return ""
}

// mayBe reports whether an object that was created for the child of an id may be
// one of c's, as far as this is known without rendering. The names of replicas
// depend on the child's id.
func (c *Child) mayBe(child string, id Identity) bool {
	if c.GVK.GroupKind() != id.GVK.GroupKind() || c.HasReplicas() && c.ID != child {
		return false
	}
	name, known := c.name.literal()
	return !known || c.HasReplicas() || name == id.Name
}

// undecided returns why the objects of the child are not known, or "". Two elements
// with one name are an error in the list, and the correct list may contain other
// names.
func (c *ChildResult) undecided() string {
	if c.Child.IsCollection() || len(c.Objects) == 0 {
		switch c.State {
		case Waiting:
			return "waits for " + summarizeWaits(c.Waits)
		case Failed:
			return "fails"
		}
	}
	for i := range c.Objects {
		d := &c.Objects[i]
		if d.State == Excluded || d.Identity.Name != "" && !d.duplicate {
			continue
		}
		if d.State == Waiting {
			return "waits for " + summarizeWaits(d.Waits)
		}
		return "fails"
	}
	return ""
}

// Renders reports whether the child renders objects of a kind.
func (c *ChildResult) Renders(gk schema.GroupKind) bool {
	return c.Child.GVK.GroupKind() == gk &&
		slices.ContainsFunc(c.Objects, func(d Desired) bool { return d.State != Excluded })
}

// summarizeWaits shortens a list of reasons to wait.
func summarizeWaits(waits []string) string {
	switch len(waits) {
	case 0:
		return "something"
	case 1:
		return waits[0]
	}
	return fmt.Sprintf("%s and %d more", waits[0], len(waits)-1)
}

// ExcludedWith says why a child without a reason of its own is excluded: which excluded children
// it reads. It returns "" if its own when excludes it.
func (c *ChildResult) ExcludedWith() string { return excludedWith(c.Excluded) }

// ExcludedWith says which excluded children the object reads, so that it is excluded, too, or returns "".
func (d *Desired) ExcludedWith() string { return excludedWith(d.Excluded) }

// ExcludedWith says why a child without a when does not render an object: which excluded children
// it reads. It returns "" for other reasons.
func (res *RuleResult) ExcludedWith(child string, id Identity) string {
	for i := range res.Children {
		c := &res.Children[i]
		if c.Child.ID != child || c.Child.when != nil {
			continue
		}
		if with := c.ExcludedWith(); with != "" {
			return with
		}
		for j := range c.Objects {
			if d := &c.Objects[j]; d.State == Excluded && (d.Identity == id || d.Identity.Name == "" ||
				!c.Child.IsCollection()) {
				return d.ExcludedWith()
			}
		}
	}
	return ""
}

func excludedWith(ids []string) string {
	switch len(ids) {
	case 0:
		return ""
	case 1:
		return "reads " + ids[0] + ", which is excluded"
	}
	return "reads " + strings.Join(ids, " and ") + ", which are excluded"
}
