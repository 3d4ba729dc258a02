package rules

import "strings"

// ExcludedWith says why a child without a reason of its own is excluded: which excluded children it reads. It returns ""
// if its own when excludes it.
func (c *ChildResult) ExcludedWith() string { return excludedWith(c.Excluded) }

// ExcludedWith says which excluded children the object reads, so that it is excluded, too, or returns "".
func (d *Desired) ExcludedWith() string { return excludedWith(d.Excluded) }

func excludedWith(ids []string) string {
	switch len(ids) {
	case 0:
		return ""
	case 1:
		return "reads " + ids[0] + ", which is excluded"
	}
	return "reads " + strings.Join(ids, " and ") + ", which are excluded"
}
