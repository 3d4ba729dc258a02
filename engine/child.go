package engine

import (
	"context"
	"fmt"

	"reconcel/rules"
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
	did, err := p.ensure(ctx, d)
	if err == nil && did == outdated {
		did, err = p.replace(ctx, d)
	}
	return p.became(rule, d, did, err)
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

// unwelcomeIn says that a namespace takes no new objects, and how to find out why.
func unwelcomeIn(namespace string) string {
	return fmt.Sprintf("namespace %s is being deleted; kubectl describe namespace %[1]s shows what it waits for", namespace)
}

// became says what an action or an error means for an object.
func (p *pass) became(rule *rules.Rule, d *rules.Desired, did action, err error) outcome {
	at := positionOf(rule, d)
	p.findings.decided(d, did, err)
	if err != nil {
		p.failing = append(p.failing, d.Child)
		return p.outcomeOf(at.wrap(err))
	}
	switch did {
	case held:
		return waits(at, d.Waits)
	case awaitingEnd:
		p.again(terminatingWait)
		return at.says(waiting, reasonWaiting, "waits for the end of the %s that is being deleted", d.Child.GVK.Kind)
	case unwelcome:
		p.again(terminatingWait)
		return at.says(waiting, reasonNamespaceEnding, "%s", unwelcomeIn(d.Identity.Namespace))
	case postponed:
		return at.says(waiting, reasonWaiting, "waits until others of its kind can be created")
	case outdated:
		return at.says(progressing, reasonProgressing, "waits to be replaced")
	case wrote:
		p.wrote = true
		return at.says(progressing, reasonProgressing, "applied")
	}
	return readiness(at, d)
}

// waits says what is waited for.
func waits(at position, what []string) outcome {
	return at.says(waiting, reasonWaiting, "waits for %s", list(what))
}
