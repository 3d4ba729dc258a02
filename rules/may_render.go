package rules

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// MayRender says which child may turn out to render an object that a rule has
// made for the child of this id, and that nothing is known to render now. It
// returns "" if none may. An error is never absence, nor is something that is
// still waited for.
//
// A child that decides about its own objects does so whatever its siblings wait
// for. Only a sibling of the same kind that does not know its objects yet could
// have the object next; where the child is not in its rule any more, so could
// such a child of another rule.
func (out *Rendering) MayRender(from *Rule, child string, id Identity) (why string) {
	decides := slices.ContainsFunc(from.Children, func(c *Child) bool { return c.ID == child })
	for i := range out.Rules {
		r := &out.Rules[i]
		if r.Leaving || decides && r.Rule != from {
			continue
		}
		if why := r.mayRender(child, id); why != "" {
			return why
		}
	}
	return ""
}

// mayRender says which child of a rule may turn out to render an object that was
// made for the child of an id.
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

// mayBe reports whether an object that was made for the child of an id may be
// one of c's, as far as is known without rendering it. The names of replicas
// are made from the child's id.
func (c *Child) mayBe(child string, id Identity) bool {
	if c.GVK.GroupKind() != id.GVK.GroupKind() || c.Interchangeable() && c.ID != child {
		return false
	}
	name, known := c.name.literal()
	return !known || c.Interchangeable() || name == id.Name
}

// undecided says why it is not known which objects of the child there should
// be, or "". Two elements with one name are a mistake in the list, which may have
// meant others.
func (c *ChildResult) undecided() string {
	if c.Child.Many() || len(c.Objects) == 0 {
		switch c.State {
		case Waiting:
			return "waits for " + listed(c.Waits)
		case Failed:
			return "fails"
		}
	}
	for i := range c.Objects {
		d := &c.Objects[i]
		if d.State == Excluded || d.Identity.Name != "" && !d.contested {
			continue
		}
		if d.State == Waiting {
			return "waits for " + listed(d.Waits)
		}
		return "fails"
	}
	return ""
}

// Renders reports whether the child is to have objects of a kind.
func (c *ChildResult) Renders(gk schema.GroupKind) bool {
	return c.Child.GVK.GroupKind() == gk && slices.ContainsFunc(c.Objects, func(d Desired) bool { return d.State != Excluded })
}

// listed names the first of the things waited for.
func listed(waits []string) string {
	switch len(waits) {
	case 0:
		return "something"
	case 1:
		return waits[0]
	}
	return fmt.Sprintf("%s and %d more", waits[0], len(waits)-1)
}
