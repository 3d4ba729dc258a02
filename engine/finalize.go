package engine

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/rules"
	"reconcel/rules/kstatus"
)

// end tears down what a rule created for a primary that is being deleted or
// deselected, and keeps the primary's finalizer until that is done. Each step
// follows from what exists: teardown can stop at any step and be resumed by
// another process.
func (p *pass) end(ctx context.Context, r *rules.RuleResult) outcome {
	if !p.self.HasFinalizer(r.Rule) {
		return outcome{} // The garbage collector deletes its children by their owner references.
	}
	// The second check is for a kind that the cache has lost during the teardown.
	for _, step := range []func(context.Context, *rules.RuleResult) outcome{p.awaitKinds, p.finalize, p.disown, p.tearDown, p.awaitKinds, p.releasePrimary} {
		if o := step(ctx, r); o.state != ready {
			return o
		}
	}
	return outcome{}
}

// awaitKinds waits until all kinds are listed that the rule may have created objects of.
func (p *pass) awaitKinds(ctx context.Context, r *rules.RuleResult) outcome {
	kind, why := p.unlisted(ctx, r.Rule)
	if why == "" {
		return outcome{}
	}
	// Retry: a watch may no longer show the primary, so no event may come.
	return position{rule: r.Rule.Name}.says(waiting, reasonDeleting, "waits for kind %s: %s", kind, why).after(forbiddenRetry)
}

// leave deletes what a rule without a finalizer created for a deselected primary,
// and removes the rule's fields from it.
func (p *pass) leave(ctx context.Context, r *rules.RuleResult) outcome {
	o := p.prune(ctx, r, nil)
	if o.state != ready {
		return o
	}
	return worse(worse(o, p.outcomeOf(p.revert(ctx, r.Rule))), p.outcomeOf(p.forgetDone(ctx, r.Rule)))
}

// releasePrimary is the last step: it removes all traces of the rule from the primary.
func (p *pass) releasePrimary(ctx context.Context, r *rules.RuleResult) outcome {
	if !p.self.Terminating() {
		if err := p.revert(ctx, r.Rule); err != nil {
			return p.outcomeOf(err)
		}
	}
	if err := p.release(ctx, r.Rule); err != nil {
		return p.outcomeOf(position{rule: r.Rule.Name}.wrap(err))
	}
	delete(p.memory.deselectedAt, r.Rule.Name)
	p.engine.log.Info("teardown finished", "object", p.req.String(), "rule", r.Rule.Name)
	return outcome{}
}

// finalize creates the entries of finalize, and waits until each is ready or timed
// out.
func (p *pass) finalize(ctx context.Context, r *rules.RuleResult) outcome {
	total, entries := outcome{}, 0
	if p.finalized(r.Rule) {
		return total
	}
	for i := range r.Children {
		if c := &r.Children[i]; c.Child.Timeout > 0 {
			entries++
			total = worse(total, p.finalizeOne(ctx, r.Rule, c))
		}
	}
	if total.state != ready || entries == 0 {
		return worse(total, p.remember(ctx, r))
	}
	if err := p.markFinalized(ctx, r.Rule); err != nil {
		return p.outcomeOf(position{rule: r.Rule.Name}.wrap(err))
	}
	return outcome{}
}

func (p *pass) finalizeOne(ctx context.Context, rule *rules.Rule, c *rules.ChildResult) outcome {
	if isEntryDone(c) {
		return outcome{}
	}
	since := p.endingSince(rule, c)
	rest := since.Add(c.Child.Timeout).Sub(p.engine.clock.Now())
	if rest <= 0 {
		message := fmt.Sprintf("rule %q continues without %s, which was not ready within %s", rule.Name, entrySubject(c), c.Child.Timeout)
		if p.logIncomplete(reasonFinalizeTimeout, message) {
			p.engine.events.warning(p.self, reasonFinalizeTimeout, message)
		}
		return outcome{}
	}
	o := p.child(ctx, rule, c)
	switch {
	case o.state == ready:
		return outcome{}
	case o.reason == reasonNamespaceEnding:
		p.skip(c, fmt.Sprintf("rule %q continues without %s, which cannot be created in a namespace that is being deleted", rule.Name, entrySubject(c)))
		return o.quietly()
	}
	// Report the end of the wait: the remaining time would change every second.
	waits := position{rule: rule.Name}.says(waiting, reasonFinalizing, "waits for %s until %s: %s",
		entrySubject(c), since.Add(c.Child.Timeout).UTC().Format(time.RFC3339), o.text)
	return worse(waits, o.quietly()).after(rest)
}

// isEntryDone reports whether an entry of finalize needs no more waiting.
func isEntryDone(c *rules.ChildResult) bool {
	if c.State != rules.Rendered {
		return c.State == rules.Excluded
	}
	for i := range c.Objects {
		if d := &c.Objects[i]; d.State != rules.Excluded && d.Readiness != kstatus.Ready {
			return false
		}
	}
	return true
}

// endingSince returns the start of the timeout of an entry of finalize: the deletion
// of the primary; for a live primary the creation of the entry's object; without an
// object the first time that this process saw the primary deselected.
func (p *pass) endingSince(rule *rules.Rule, c *rules.ChildResult) time.Time {
	const second = time.Second // Timestamps have no fractions: the entry gets its full timeout.
	if at := p.self.GetDeletionTimestamp(); at != nil {
		return at.Add(second)
	}
	for i := range c.Objects {
		if o := c.Objects[i].Live.Object; o != nil {
			live := unstructured.Unstructured{Object: o}
			return live.GetCreationTimestamp().Add(second)
		}
	}
	return p.memory.leftAt(rule.Name, p.engine.clock.Now())
}

// entrySubject names an entry of finalize in messages.
func entrySubject(c *rules.ChildResult) string {
	if len(c.Objects) > 0 && c.Objects[0].Identity.Name != "" {
		id := c.Objects[0].Identity
		return id.String()
	}
	return fmt.Sprintf("%s (%s)", c.Child.ID, c.Child.GVK.Kind)
}

// skip reports an entry that cannot be created. It only logs if the primary is in the
// same namespace, because the API server would reject an Event there too.
func (p *pass) skip(c *rules.ChildResult, message string) {
	if p.logIncomplete(reasonFinalizeSkipped, message) && len(c.Objects) > 0 && c.Objects[0].Identity.Namespace != p.req.Namespace {
		p.engine.events.warning(p.self, reasonFinalizeSkipped, message)
	}
}

// logIncomplete logs a message once, and reports whether it did.
func (p *pass) logIncomplete(reason, message string) bool {
	news := p.memory.isNews(reason+" "+message, message)
	if news {
		p.engine.log.Warn("finalize incomplete", "object", p.req.String(), "reason", reason, "message", message)
	}
	return news
}
