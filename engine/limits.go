package engine

import (
	"time"

	"reconcel/rules"
)

// renderTimeout is how long the loops of a rule may hold a worker. Their budget
// ends them in a tenth of that, unless the machine has no time for us.
const renderTimeout = 2 * time.Second

// render renders the rules for the primary. Where a limit of package rules is
// hit the rule is Stalled until the object or the rules change. Only a timeout
// may heal by itself.
func (p *pass) render() {
	p.primary.Render(rules.Input{
		Self: p.self.Object, Installation: p.engine.installation, Observed: p.observed, Owned: p.owned, Lookup: p.lookup, Timeout: renderTimeout,
		Coverage: p.engine.coverage,
	}, p.rendering)
	p.retryTimedOut()
}

func (p *pass) retryTimedOut() {
	for i := range p.rendering.Rules {
		if p.rendering.Rules[i].TimedOut {
			p.again(jitter(refusedRetry, p.engine.random))
		}
	}
}
