package reconcile

import (
	"time"

	"reconcel/engine/outcome"
	"reconcel/engine/plan"
)

// count records the outcome of a rule in this reconciliation.
func (p *Pass) count(i int, o outcome.Outcome, took time.Duration) {
	r, m := &p.Rendering.Rules[i], p.Primary.Meters[i]
	now := plan.Share{}
	if r.Matches || r.Teardown || r.Err != nil {
		m.Reconciles[o.State].Add(1)
		m.Took.Add(int64(took))
		now = plan.Share{Of: m, State: o.State, Children: plan.CountRendered(r)}
	}
	p.Memory.Share(i).Set(now)
}

func (p *Pass) countPaused() {
	for i := range p.Rendering.Rules {
		p.count(i, outcome.Outcome{State: outcome.Paused}, 0)
	}
	p.Memory.Withdraw(len(p.Rendering.Rules))
}
