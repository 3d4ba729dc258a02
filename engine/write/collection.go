package write

import (
	"context"
	"fmt"

	"reconcel/engine/decide"
	"reconcel/engine/outcome"
	"reconcel/rules"
	"reconcel/rules/kstatus"
)

// A collection aggregates the outcomes of a child that may have any number of
// objects.
type collection struct {
	children *Children
	rule     *rules.Rule
	child    *rules.ChildResult
	total    outcome.Outcome
	replaced []*rules.Desired // to replace
}

// ensureCollection reconciles a child that may have any number of objects. Existing objects
// come first, then missing ones, then replacements: only as many objects as the
// child can spare may be missing at a time.
func (p *Children) ensureCollection(ctx context.Context, rule *rules.Rule, c *rules.ChildResult) outcome.Outcome {
	t := &collection{children: p, rule: rule, child: c}
	var missing []*rules.Desired
	for i := range c.Objects {
		d := &c.Objects[i]
		if o, rendered := decide.Unrendered(rule, d); !rendered {
			t.add(o)
			continue
		}
		if len(d.Waits) == 0 && d.Done == nil && p.View.Live(d.Identity) == nil {
			missing = append(missing, d)
			continue
		}
		became, err := p.ChildWriter.ensure(ctx, d)
		t.note(d, became, err)
	}
	if len(missing) > 0 {
		if rest, why := p.BackOff(c); rest > 0 && !p.Requested {
			t.add(t.position().Says(outcome.Waiting, outcome.ReasonWaiting, "%s", why).After(rest))
		} else {
			p.createAll(ctx, missing, t)
		}
	}
	t.replace(ctx)
	return t.summary()
}

func (t *collection) add(o outcome.Outcome) { t.total = outcome.Worse(t.total, o) }

func (t *collection) position() outcome.Position { return decide.ChildPosition(t.rule, t.child) }

func (t *collection) note(d *rules.Desired, became decide.Step, err error) {
	if err == nil && became.Action == outcome.Replaced {
		t.replaced = append(t.replaced, d)
		return
	}
	o := t.children.became(t.rule, d, became, err)
	if (became.Waits == decide.ForDeletion || became.Waits == decide.ForOwnDeletion) && d.Child.Replaces() {
		o.State, o.Reason = outcome.Progressing, outcome.ReasonProgressing // It is deleted only to be created again.
	}
	t.add(o)
}

// replace replaces as many objects as the child can spare. An object that is not
// available can always be replaced.
func (t *collection) replace(ctx context.Context) {
	if len(t.replaced) == 0 {
		return
	}
	spare := t.child.MaxUnavailable
	for i := range t.child.Objects {
		if d := &t.child.Objects[i]; d.State == rules.Rendered && !d.Available {
			spare--
		}
	}
	var rest []*rules.Desired
	for _, d := range t.replaced {
		if d.Available {
			if spare <= 0 {
				rest = append(rest, d)
				continue
			}
			spare--
		}
		became, err := t.children.ChildWriter.replace(ctx, d)
		t.note(d, became, err)
	}
	for _, d := range rest {
		t.add(t.children.became(t.rule, d, decide.SkipFor(decide.ForReplacement), nil))
	}
}

// summary returns the outcome of the child. While its objects progress, their
// number is more useful than the state of any one of them.
func (t *collection) summary() outcome.Outcome {
	if t.total.State != outcome.Progressing {
		return t.total
	}
	of := 0
	isReady, isCurrent := 0, 0
	for i := range t.child.Objects {
		d := &t.child.Objects[i]
		if d.State == rules.Excluded {
			continue
		}
		of++
		if d.Readiness == kstatus.Ready {
			isReady++
		}
		if d.Live.Applied == d.HashString() {
			isCurrent++
		}
	}
	text := fmt.Sprintf("%d of %d ready", isReady, of)
	if len(t.replaced) > 0 {
		text = fmt.Sprintf("%d of %d replaced", isCurrent, of)
	}
	sum := t.total
	sum.At, sum.Text = t.position(), text
	return sum
}
