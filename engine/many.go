package engine

import (
	"context"
	"fmt"

	"reconcel/rules"
)

// A tally sums up what becomes of the objects of one child, if it may have any
// number of them.
type tally struct {
	pass     *pass
	rule     *rules.Rule
	child    *rules.ChildResult
	total    outcome
	settled  bool
	outdated []*rules.Desired // to be replaced
}

// many brings the objects of a child that may have any number of them to where
// its rule wants them: what exists first, then what is missing, and then what
// is to be replaced, since only as many as the child can spare may be missing
// at a time.
func (p *pass) many(ctx context.Context, rule *rules.Rule, c *rules.ChildResult) (outcome, bool) {
	t := &tally{pass: p, rule: rule, child: c, settled: true}
	var missing []*rules.Desired
	for i := range c.Objects {
		d := &c.Objects[i]
		if o, settled, rendered := p.unrendered(rule, d); !rendered {
			t.add(o, settled)
			continue
		}
		if len(d.Waits) == 0 && p.live(d.Identity) == nil {
			missing = append(missing, d)
			continue
		}
		did, err := p.ensure(ctx, d)
		t.note(d, did, err)
	}
	if len(missing) > 0 {
		if rest, why := p.backOff(c); rest > 0 {
			p.again(rest)
			t.add(outcome{state: waiting, reason: reasonWaiting, message: fmt.Sprintf("rule %q, child %q: %s", rule.Name, c.Child.ID, why)}, true)
		} else {
			p.createAll(ctx, missing, t)
		}
	}
	t.replace(ctx)
	return t.summary(), t.settled
}

func (t *tally) add(o outcome, settled bool) {
	t.total, t.settled = worse(t.total, o), t.settled && settled
}

// note adds what was done about one object.
func (t *tally) note(d *rules.Desired, did action, err error) {
	if err == nil && did == outdated {
		t.outdated = append(t.outdated, d)
		return
	}
	o, settled := t.pass.became(t.rule, d, did, err)
	if did == awaitingEnd && d.Child.OnChange == rules.Replace {
		o.state, o.reason = progressing, reasonProgressing // It goes so that it can be made anew.
	}
	t.add(o, settled)
}

// summary is what people see of the child: while its objects are on their way
// their number says more than any one of them.
func (t *tally) summary() outcome {
	if t.total.state != progressing {
		return t.total
	}
	o, of := t.total, 0
	isReady, isCurrent := 0, 0
	for i := range t.child.Objects {
		d := &t.child.Objects[i]
		if d.State == rules.Excluded {
			continue
		}
		of++
		if d.Readiness == rules.Ready {
			isReady++
		}
		if d.Live.Applied == d.HashString() {
			isCurrent++
		}
	}
	o.message = fmt.Sprintf("rule %q, child %q: %d of %d ready", t.rule.Name, t.child.Child.ID, isReady, of)
	if len(t.outdated) > 0 {
		o.message = fmt.Sprintf("rule %q, child %q: %d of %d replaced", t.rule.Name, t.child.Child.ID, isCurrent, of)
	}
	return o
}
