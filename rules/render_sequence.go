package rules

import (
	"fmt"

	"reconcel/rules/kstatus"
)

// awaitPrevious closes the gate of each object of a sequence behind the first one that is not
// ready. It comes after everything that can make an object fail.
func (res *RuleResult) awaitPrevious() {
	for i := range res.Children {
		if c := &res.Children[i]; c.Child.Sequential {
			c.awaitPrevious()
		}
	}
}

func (c *ChildResult) awaitPrevious() {
	why := ""
	for i := range c.Objects {
		d := &c.Objects[i]
		switch {
		case d.State == Excluded:
		case why != "":
			if d.State == Rendered {
				d.Waits = mergeSorted(d.Waits, []string{why})
			}
		case d.Readiness != kstatus.Ready:
			why = d.unready(fmt.Sprintf("%s[%d]", d.Child.ID, d.Index))
		}
	}
}
