package engine

import (
	"sync/atomic"
	"time"

	"reconcel/rules"
)

// A meter has the metrics of one rule for one kind. It survives reloads as long as each
// plan has a rule with the same name for the kind.
type meter struct {
	*tally
	primaries [states]atomic.Int64 // by state after the last reconciliation
	children  atomic.Int64         // objects that the rule rendered
}

// A tally has the counters of all rules of one name. They never decrease: it survives a
// kind that leaves the rule.
type tally struct {
	reconciles [states]atomic.Int64 // reconciliations, by resulting state
	took       atomic.Int64         // nanoseconds, in all reconciliations
}

// A share is the contribution of one primary to the meter of one rule. The zero
// value adds nothing.
type share struct {
	of       *meter // nil: the rule does not match the primary
	state    state
	children int
}

// set replaces the share s in its meter.
func (s *share) set(now share) {
	if *s == now {
		return
	}
	s.add(-1)
	*s = now
	s.add(1)
}

func (s *share) add(sign int64) {
	if s.of != nil {
		s.of.primaries[s.state].Add(sign)
		s.of.children.Add(sign * int64(s.children))
	}
}

// meter gives each rule of a plan its meter, and reuses the meter of the last
// plan's rule with the same name.
func (m *metrics) meter(pl *plan) {
	before, tallies := m.meters, map[string]*tally{}
	for of, old := range before {
		tallies[of.name] = old.tally
	}
	m.meters = map[ruleOf]*meter{}
	for kind, pk := range pl.primaries {
		pk.meters = make([]*meter, len(pk.Rules))
		for i, r := range pk.Rules {
			of := ruleOf{r.Name, kind}
			if tallies[r.Name] == nil {
				tallies[r.Name] = &tally{}
			}
			if m.meters[of] = before[of]; m.meters[of] == nil {
				m.meters[of] = &meter{tally: tallies[r.Name]}
			}
			pk.meters[i] = m.meters[of]
		}
		if pk.next != nil {
			pk.next.meters = pk.meters
		}
	}
}

// count records the outcome of a rule in this reconciliation.
func (p *pass) count(i int, o outcome, took time.Duration) {
	r, m := &p.rendering.Rules[i], p.primary.meters[i]
	now := share{}
	if r.Matches || r.Teardown || r.Err != nil {
		m.reconciles[o.state].Add(1)
		m.took.Add(int64(took))
		now = share{m, o.state, countRendered(r)}
	}
	p.memory.share(i).set(now)
}

func (p *pass) countPaused() {
	for i := range p.rendering.Rules {
		p.count(i, outcome{state: paused}, 0)
	}
	p.memory.withdraw(len(p.rendering.Rules))
}

func countRendered(r *rules.RuleResult) (n int) {
	for i := range r.Children {
		n += len(r.Children[i].Objects)
	}
	return n
}

// share returns the primary's share for the rule at an index of its kind's
// rules. After a reload another rule may have that index; set then moves the
// share to its meter.
func (m *memory) share(i int) *share {
	for len(m.shares) <= i {
		m.shares = append(m.shares, share{})
	}
	return &m.shares[i]
}

// withdraw removes the shares from an index to the end.
func (m *memory) withdraw(from int) {
	for i := from; i < len(m.shares); i++ {
		m.shares[i].set(share{})
	}
}
