package engine

import "time"

// Rules have gates that open with time (elapsed, cron). A rendering says when the next one
// opens, and the primary is reconciled again exactly then.

// noteOpenGate names a gate as the trigger of a reconciliation that has no other one.
func (p *pass) noteOpenGate(now time.Time) {
	if at := p.memory.gateAt; p.trigger == whyDependency && !at.IsZero() && !now.Before(at) {
		p.trigger = whyGate
	}
}

// awaitGate returns the delay until the next gate opens, or 0. It is at least a nanosecond: a
// gate may open during a reconciliation.
func (p *pass) awaitGate() time.Duration {
	var first time.Time
	for i := range p.rendering.Rules {
		if next := p.rendering.Rules[i].Next; !next.IsZero() && (first.IsZero() || next.Before(first)) {
			first = next
		}
	}
	p.memory.gateAt = first
	if first.IsZero() {
		return 0
	}
	return max(first.Sub(p.engine.clock.Now()), time.Nanosecond)
}
