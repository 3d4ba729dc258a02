package engine

import (
	"context"
	"fmt"

	"reconcel/rules"
	"reconcel/rules/kstatus"
)

// child brings the objects of one child to where its rule wants them.
func (p *pass) child(ctx context.Context, rule *rules.Rule, c *rules.ChildResult) outcome {
	switch c.State {
	case rules.Excluded:
		return outcome{}
	case rules.Waiting:
		return waits(childPosition(rule, c), c.Waits)
	case rules.Failed:
		return childPosition(rule, c).failed(c.Err)
	}
	if c.Child.Many() {
		return p.many(ctx, rule, c)
	}
	total := outcome{}
	for i := range c.Objects {
		total = worse(total, p.object(ctx, rule, &c.Objects[i]))
	}
	return total
}

// childPosition is a child as a whole.
func childPosition(rule *rules.Rule, c *rules.ChildResult) position {
	return position{rule: rule.Name, subject: fmt.Sprintf("child %q", c.Child.ID)}
}

// object brings one object to where its rule wants it.
func (p *pass) object(ctx context.Context, rule *rules.Rule, d *rules.Desired) outcome {
	if o, rendered := unrendered(rule, d); !rendered {
		return o
	}
	became, err := p.ensure(ctx, d)
	if err == nil && became.action == Replaced {
		became, err = p.replace(ctx, d)
	}
	return p.became(rule, d, became, err)
}

// unrendered says what is known of an object of which it is not known how it
// should be.
func unrendered(rule *rules.Rule, d *rules.Desired) (o outcome, rendered bool) {
	switch d.State {
	case rules.Excluded:
		return outcome{}, false
	case rules.Waiting:
		return waits(positionOf(rule, d), d.Waits), false
	case rules.Failed:
		return positionOf(rule, d).failed(d.Err), false
	}
	return outcome{}, true
}

// became says what a step or an error means for an object.
func (p *pass) became(rule *rules.Rule, d *rules.Desired, took step, err error) outcome {
	at := positionOf(rule, d)
	p.findings.decided(d, took, err)
	switch {
	case err != nil:
		o := p.outcomeOf(at.wrap(err))
		o.failed = true
		return o
	case took.action == Skipped:
		return skipped(at, d, took.waits)
	case took.action != Unchanged:
		return at.says(progressing, reasonProgressing, "applied")
	}
	return readiness(at, d)
}

// skipped says what a skipped object waits for.
func skipped(at position, d *rules.Desired, what waitFor) outcome {
	o := at.says(waiting, reasonWaiting, "%s", what.text(d))
	switch what {
	case forDeletion:
		o.retry = terminatingWait
	case forOwnDeletion:
		o.retry = staleRetry // No event needs to be waited for: we know what it says.
	case forNamespace:
		o.reason, o.retry = reasonNamespaceEnding, terminatingWait
	case forReplacement:
		o.state, o.reason = progressing, reasonProgressing
	}
	return o
}

// text says what a skipped object waits for.
func (w waitFor) text(d *rules.Desired) string {
	switch w {
	case forDeletion, forOwnDeletion:
		return fmt.Sprintf("waits for the deletion of the previous %s", d.Child.GVK.Kind)
	case forNamespace:
		return fmt.Sprintf("namespace %s is being deleted; kubectl describe namespace %[1]s shows what it waits for", d.Identity.Namespace)
	case forReplacement:
		return "waits for its replacement"
	case forOthers:
		return "waits until other objects of its kind can be created"
	}
	return waitsFor(d.Waits)
}

// waits says what is waited for.
func waits(at position, what []string) outcome {
	return at.says(waiting, reasonWaiting, "%s", waitsFor(what))
}

func waitsFor(what []string) string { return "waits for " + list(what) }

// readiness says how the live child is doing.
func readiness(at position, d *rules.Desired) outcome {
	if d.Readiness == kstatus.Ready {
		return outcome{}
	}
	object := name(d.Identity.GVK.Kind, d.Identity.Namespace, d.Identity.Name)
	if d.Readiness == kstatus.Stalled {
		return at.says(stalled, reasonChildFailed, "%s: %s", object, d.Reason)
	}
	return at.says(progressing, reasonProgressing, "%s: %s", object, d.Reason)
}
