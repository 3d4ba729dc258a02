package engine

import (
	"sync/atomic"
	"time"

	"reconcel/rules"
)

// A meter counts for one rule, in every plan that has a rule of its name. A
// meter that no plan has any more is shown to nobody.
type meter struct {
	looks     [states]atomic.Int64 // by what became of the rule
	took      atomic.Int64         // nanoseconds, in all looks
	primaries [states]atomic.Int64 // that the rule is for, by what became of it in the last look
	children  atomic.Int64         // that the rule rendered for them
}

// A share is what a primary adds to the meter of one rule. The zero value adds
// nothing.
type share struct {
	of       *meter // nil: the rule is not for the primary
	state    state
	children int
}

// set puts another share in the place of s.
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

// meter gives each rule of a plan its meter: the one that it had before, if
// there was a rule of that name.
func (m *metrics) meter(pl *plan) {
	before := m.meters
	m.meters = map[string]*meter{}
	for _, pk := range pl.primaries {
		pk.meters = make([]*meter, len(pk.Rules))
		for i, r := range pk.Rules {
			if m.meters[r.Name] = before[r.Name]; m.meters[r.Name] == nil {
				m.meters[r.Name] = &meter{}
			}
			pk.meters[i] = m.meters[r.Name]
		}
	}
}

// count notes what became of a rule in this pass.
func (p *pass) count(i int, o outcome, took time.Duration) {
	r, m := &p.rendering.Rules[i], p.primary.meters[i]
	now := share{}
	if r.Matches || r.Leaving || r.Err != nil {
		m.looks[o.state].Add(1)
		m.took.Add(int64(took))
		now = share{m, o.state, countRendered(r)}
	}
	p.memory.share(i).set(now)
}

// countPaused notes that nothing is done for the primary.
func (p *pass) countPaused() {
	for i := range p.rendering.Rules {
		p.count(i, outcome{state: paused}, 0)
	}
	p.memory.withdraw(len(p.rendering.Rules))
}

// countRendered counts the objects that a rule renders.
func countRendered(r *rules.RuleResult) (n int) {
	for i := range r.Children {
		n += len(r.Children[i].Objects)
	}
	return n
}

// share returns what the primary adds for the rule at a place among those of
// its kind. With other rules another rule may stand there: its share is then
// replaced like any other.
func (m *memory) share(i int) *share {
	for len(m.shares) <= i {
		m.shares = append(m.shares, share{})
	}
	return &m.shares[i]
}

// withdraw takes the shares back that stand at a place and after it.
func (m *memory) withdraw(from int) {
	for i := from; i < len(m.shares); i++ {
		m.shares[i].set(share{})
	}
}
