package engine

import (
	"slices"
	"strings"

	"reconcel/rules"
)

// keptCondition lists objects that stay although no rule renders them. ok is false
// if there are none.
func keptCondition(kept []keptObject) (c rules.Condition, ok bool) {
	if len(kept) == 0 {
		return c, false
	}
	c = rules.Condition{Type: conditionKept, Status: rules.True, Reason: reasonOrphaned}
	var order []string
	objects := map[string][]string{}
	for _, s := range kept {
		if !s.orphan {
			c.Reason = reasonUndecided
		}
		if objects[s.why] == nil {
			order = append(order, s.why)
		}
		objects[s.why] = append(objects[s.why], s.id.String())
	}
	slices.Sort(order)
	var words []string
	for _, why := range order {
		slices.Sort(objects[why])
		words = append(words, strings.Join(slices.Compact(objects[why]), ", ")+": "+why)
	}
	c.Message = truncate(strings.Join(words, "; "), mostFailure)
	return c, true
}

// reportKept logs the kept objects and records an Event, once for each set of them. It
// does not repeat a set that the condition already had when this process started.
func (p *pass) reportKept(kept []keptObject) {
	c, _ := keptCondition(kept)
	m := p.memory
	known := m.reconciled
	m.reconciled = true
	if m.kept == c.Message {
		return
	}
	m.kept = c.Message
	if c.Message == "" || !known || liveConditions(p.self.Content())[conditionKept]["message"] == c.Message {
		return
	}
	p.engine.log.Info("objects kept", "object", p.req.String(), "message", c.Message)
	p.tellState(reasonKept, "kept although no rule renders it: "+c.Message)
}
