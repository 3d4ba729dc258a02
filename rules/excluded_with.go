package rules

import "strings"

// ExcludedWith says why a child without a reason of its own is excluded: which excluded children
// it reads. It returns "" if its own when excludes it.
func (c *ChildResult) ExcludedWith() string { return excludedWith(c.Excluded) }

// ExcludedWith says which excluded children the object reads, so that it is excluded, too, or returns "".
func (d *Desired) ExcludedWith() string { return excludedWith(d.Excluded) }

// ExcludedWith says why a child without a when does not render an object: which excluded children
// it reads. It returns "" for other reasons.
func (r *RuleResult) ExcludedWith(child string, id Identity) string {
	for i := range r.Children {
		c := &r.Children[i]
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
