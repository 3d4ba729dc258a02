package plan

import "fmt"

// proposeRollouts notes which changed rules put several resources at risk at once.
func (c *comparison) proposeRollouts() {
	for _, primary := range c.Rules.Program.Primaries() {
		for _, r := range primary.Rules {
			if n := len(c.report.risky[r.Name]); n > 1 && r.Rollout.MaxUnavailable == nil && !r.ForCluster() {
				c.report.Notes = append(c.report.Notes, fmt.Sprintf("rule %s takes these risks for %d resources at once; "+
					"rollout: {maxUnavailable: 1} changes one after another, and pauses when one fails", r.Name, n))
			}
		}
	}
}
