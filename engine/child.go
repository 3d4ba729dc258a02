package engine

import (
	"context"
	"fmt"

	"reconcel/rules"
)

// child brings the objects of one child to where its rule wants them. It also
// reports whether the child's place is settled: what it replaces may go.
func (p *pass) child(ctx context.Context, rule *rules.Rule, c *rules.ChildResult) (outcome, bool) {
	switch c.State {
	case rules.Excluded:
		return outcome{}, true
	case rules.Waiting:
		return p.waits(rule, fmt.Sprintf("child %q", c.Child.ID), c.Waits), false
	case rules.Failed:
		return failed(c.Err), false
	}
	if c.Child.Many() {
		return p.many(ctx, rule, c)
	}
	total, settled := outcome{}, true
	for i := range c.Objects {
		o, done := p.object(ctx, rule, &c.Objects[i])
		total, settled = worse(total, o), settled && done
	}
	return total, settled
}

// object brings one object to where its rule wants it.
func (p *pass) object(ctx context.Context, rule *rules.Rule, d *rules.Desired) (outcome, bool) {
	if o, settled, rendered := p.unrendered(rule, d); !rendered {
		return o, settled
	}
	did, err := p.ensure(ctx, d)
	if err == nil && did == outdated {
		did, err = p.replace(ctx, d)
	}
	return p.became(rule, d, did, err)
}

// unrendered says what becomes of an object of which it is not known how it
// should be.
func (p *pass) unrendered(rule *rules.Rule, d *rules.Desired) (o outcome, settled, rendered bool) {
	switch d.State {
	case rules.Excluded:
		return outcome{}, true, false
	case rules.Waiting:
		return p.waits(rule, d.Subject(), d.Waits), false, false
	case rules.Failed:
		return failed(d.Err), false, false
	}
	return outcome{}, false, true
}

// became says what became of an object, and whether its place is settled.
func (p *pass) became(rule *rules.Rule, d *rules.Desired, did action, err error) (outcome, bool) {
	if err != nil {
		return p.outcomeOf(fmt.Errorf("rule %q, %s: %w", rule.Name, d.Subject(), err)), false
	}
	says := func(s state, reason, format string, args ...any) outcome {
		return outcome{state: s, reason: reason, message: fmt.Sprintf("rule %q, %s: ", rule.Name, d.Subject()) + fmt.Sprintf(format, args...)}
	}
	switch did {
	case held:
		return p.waits(rule, d.Subject(), d.Waits), false
	case awaitingEnd:
		p.again(terminatingWait)
		return says(waiting, reasonWaiting, "waits for the end of the %s that is being deleted", d.Child.GVK.Kind), false
	case unwelcome:
		p.again(terminatingWait)
		return says(waiting, reasonNamespaceEnding, "the namespace is being deleted"), false
	case postponed:
		return says(waiting, reasonWaiting, "waits until others of its kind can be created"), false
	case outdated:
		return says(progressing, reasonProgressing, "waits to be replaced"), true
	case wrote:
		p.wrote = true
		return says(progressing, reasonProgressing, "applied"), true
	}
	return readiness(rule, d), true
}

// waits says what a child waits for.
func (p *pass) waits(rule *rules.Rule, subject string, what []string) outcome {
	return outcome{state: waiting, reason: reasonWaiting,
		message: fmt.Sprintf("rule %q, %s: waits for %s", rule.Name, subject, list(what))}
}
