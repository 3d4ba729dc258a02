package rules

import (
	"fmt"
	"slices"
	"strings"

	"reconcel/rules/expr"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// statusConditions are the conditions that a rule sets on its primary.
type statusConditions struct {
	*runState
	settling  *settling
	evaluator *evaluator
	texts     *texts
	loops     *loops
}

// renderConditions computes the conditions.
func (r *statusConditions) renderConditions() {
	for i := range r.rule.conditions {
		k := &r.rule.conditions[i]
		if len(k.iterators) > 0 {
			r.renderEachCondition(k, i)
			continue
		}
		typ, _ := k.typ.literal()
		r.renderCondition(Condition{Type: typ, Status: False, from: k})
	}
}

// renderCondition computes a condition of a type.
func (r *statusConditions) renderCondition(c Condition) {
	k := c.from
	yes, res := r.evaluator.evalBool(k.when)
	switch {
	case res.err != nil:
		f := r.settling.failure(c.subject(), "when", res.err)
		r.settling.statusFailure(f)
		c.Status, c.Reason, c.Message = Unknown, string(f.Reason), f.Message
	case res.unknown != nil:
		c.Status = Unknown
		c.Reason, c.Message = r.undecided(res)
	default:
		said := "Not" + c.Type
		if yes {
			c.Status, said = True, c.Type
		}
		if c.Reason = r.conditionWord(&c, k.reason, syntax.IsReason, wrongReason); c.Reason == "" {
			c.Reason = reasonOf(said)
		}
		c.Message = r.conditionMessage(&c)
		c.Event = r.conditionWord(&c, k.event, syntax.IsEventType, wrongEvent)
	}
	r.conditionBytes += len(c.Type) + len(c.Reason) + len(c.Message)
	r.result.Conditions = append(r.result.Conditions, c)
}

// subject names the condition in messages: condition "Available", or with forEach
// condition "Zone-${zone}"[2].
func (c *Condition) subject() string {
	if len(c.from.iterators) == 0 {
		return c.from.subject
	}
	return fmt.Sprintf("%s[%d]", c.from.subject, c.index)
}

// reasonOf makes a reason of a type, in which more characters are allowed.
func reasonOf(typ string) string {
	reason := strings.Map(func(r rune) rune {
		if source.IsIdent(r) {
			return r
		}
		return '_'
	}, typ)
	if !syntax.IsReason(reason) {
		return "Is" + reason
	}
	return reason
}

// undecided returns why a condition is Unknown. An excluded child does not make the
// condition False: the author decides with .? or has() what its absence means.
func (r *statusConditions) undecided(res result) (reason, message string) {
	if ids := r.settling.excluded(res.unknown); ids != nil {
		return "Excluded", "disabled by when: " + strings.Join(ids, ", ")
	}
	return "Waiting", "waits for " + strings.Join(expr.Trails(res.unknown), ", ")
}

// conditionWord computes the reason, or the type of the Event. It is empty while it waits.
func (r *statusConditions) conditionWord(c *Condition, t *text, valid func(string) bool, wrong string) string {
	if t == nil {
		return ""
	}
	s, res := r.texts.shortText(t, maxReason, wrong)
	if res.ok() && !valid(s) {
		res = failedAt(t.pos, wrong)
	}
	return r.conditionText(c, t.where, s, res)
}

// conditionMessage computes the message. It is empty while it waits.
func (r *statusConditions) conditionMessage(c *Condition) string {
	t := c.from.message
	if t == nil {
		return ""
	}
	s, res := r.texts.shortText(t, maxMessage, longMessage)
	return r.conditionText(c, t.where, s, res)
}

// conditionText returns a text of a condition, or "" if it waits or fails.
func (r *statusConditions) conditionText(c *Condition, where, s string, res result) string {
	if res.err != nil {
		r.settling.statusFailure(r.settling.failure(c.subject(), where, res.err))
	}
	if !res.ok() {
		return ""
	}
	return s
}

// An element is one element of each list of a forEach.
type element struct {
	locals map[string]int // of the loop
	values []any
	index  int
}

// renderEachCondition computes the conditions of the elements of forEach. While these are
// not known, it is undecided which conditions there should be: those that exist stay.
func (r *statusConditions) renderEachCondition(k *condition, entry int) {
	r.element = element{locals: k.locals}
	defer func() { r.element = element{} }()
	last := k.iterators[len(k.iterators)-1].in.Pos()
	var elements [][]any
	res := r.loops.eachElement(k.iterators, &r.element.values, func() result {
		if r.conditions+len(elements) >= maxConditions {
			return failedAt(last, tooManyConditions)
		}
		elements = append(elements, slices.Clone(r.element.values))
		return result{}
	})
	decided := r.settleCondition(k.subject, "forEach", res)
	if !res.ok() {
		elements = nil
	}
	r.conditions += len(elements)
	for i, values := range elements {
		if r.conditionBytes > maxObject {
			decided = r.settleCondition(k.subject, "forEach", failedAt(last, tooLargeConditions))
			break
		}
		r.element.values, r.element.index = values, i
		decided = r.renderElement(Condition{Status: False, from: k, index: i}) && decided
	}
	if !decided {
		r.result.UndecidedConditions = append(r.result.UndecidedConditions, entry)
	}
}

// renderElement computes the condition of an element, and reports whether its type is
// decided.
func (r *statusConditions) renderElement(c Condition) bool {
	t := c.from.typ
	typ, res := r.texts.shortText(t, syntax.MaxConditionType, longType)
	if res.ok() {
		if why := syntax.InvalidConditionType(typ); why != "" {
			res = failedAt(t.pos, why)
		}
	}
	if !res.ok() {
		return r.settleCondition(c.subject(), t.where, res)
	}
	c.Type = typ
	r.renderCondition(c)
	return true
}

// settleCondition records why the types of conditions are not known, and reports whether
// they are decided: what reads an excluded child is not wanted either.
func (r *statusConditions) settleCondition(subject, field string, res result) (decided bool) {
	switch {
	case res.err != nil:
		r.settling.statusFailure(r.settling.failure(subject, field, res.err))
		return false
	case res.unknown != nil:
		r.result.StatusWaits = append(r.result.StatusWaits, FieldWait{Field: subject, Waits: r.settling.waitsOf(res.unknown)})
		return r.settling.excluded(res.unknown) != nil
	}
	return true
}

// failSameTypes fails conditions of one type. One of them remains, which is Unknown.
func (r *statusConditions) failSameTypes(rules []RuleResult) {
	if r.conditions == 0 {
		return // The types are literal, and known to differ.
	}
	type place struct {
		rule, at int
		failed   bool
	}
	first := map[string]*place{}
	for i := range rules {
		res := &rules[i]
		unique := res.Conditions[:0]
		for _, c := range res.Conditions {
			p, taken := first[c.Type]
			if !taken {
				first[c.Type] = &place{rule: i, at: len(unique)}
				unique = append(unique, c)
				continue
			}
			other := &rules[p.rule].Conditions[p.at]
			r.failSameType(res, &c, &rules[p.rule], other)
			if !p.failed {
				p.failed = true
				r.failSameType(&rules[p.rule], other, res, &c)
			}
		}
		res.Conditions = unique
	}
}

// failSameType fails a condition that has the type of another one.
func (r *statusConditions) failSameType(res *RuleResult, c *Condition, otherRule *RuleResult, other *Condition) {
	r.rule, r.result = res.Rule, res
	f := r.settling.failure(c.subject(), "type", &expr.Error{Pos: c.from.typ.pos,
		Message: fmt.Sprintf("%s of rule %q has the same type", other.subject(), otherRule.Rule.Name)})
	r.settling.statusFailure(f)
	c.Status, c.Reason, c.Message = Unknown, string(f.Reason), f.Message
}

// renderStatus writes the status. It omits fields that wait or fail, and reports
// failures.
func (r *run) renderStatus() {
	t := r.rule.status
	if t == nil {
		return
	}
	start := len(r.buf)
	r.limit = start + maxObject
	r.buf = append(r.buf, '{')
	r.writing.executeLenient(t.ops, func(o *op, res result) {
		if res.err != nil {
			r.settling.statusFailure(r.settling.failure("", o.where, res.err))
			r.result.StatusFailed = append(r.result.StatusFailed, r.rule.statusPaths[o.where])
			return
		}
		r.result.StatusWaits = append(r.result.StatusWaits, FieldWait{Field: o.where, Waits: r.settling.waitsOf(res.unknown)})
	})
	r.buf = expr.Close(r.buf, '}')
	r.result.status = span{start, len(r.buf)}
}

// statusFailure records a failure of a field or condition.
func (r *settling) statusFailure(f *Failure) {
	r.result.StatusErrs = append(r.result.StatusErrs, *f)
	if r.result.StatusErr == nil {
		r.result.StatusErr = f
		return
	}
	if len(r.result.StatusErr.Message) <= maxMessage { // StatusErrs has the others.
		r.result.StatusErr.Message += "; " + f.Message
	}
}

// renderPatch writes the whole patch or nothing: if it omitted a field, reconcel
// would remove that field from the primary.
func (r *run) renderPatch() {
	t := r.rule.patch
	if t == nil || r.result.Teardown {
		return
	}
	start := len(r.buf)
	o, res := r.appendPatch()
	own, where, err := r.queries.ownFields()
	switch {
	case err != nil && res.ok():
		r.result.PatchErr = r.settling.failure("", where, err)
	case res.err != nil:
		r.result.PatchErr = r.settling.failure("", o.where, res.err)
	case !res.ok():
		r.result.PatchWaits = r.settling.waitsOf(res.unknown)
	case len(own) == 0 || r.isStable(own, start):
		r.result.patch = span{start, len(r.buf)}
		for _, f := range own {
			r.result.OwnFields = append(r.result.OwnFields, f.keys)
		}
		return
	}
	r.buf = r.buf[:start]
}

// appendPatch appends what the patch makes of the primary as expressions see it now.
func (r *run) appendPatch() (*op, result) {
	r.limit = len(r.buf) + maxObject
	r.marks = r.marks[:0]
	r.buf = append(r.buf, '{')
	o, res := r.writing.execute(r.rule.patch.ops)
	if res.ok() {
		r.buf = expr.Close(r.buf, '}')
	}
	return o, res
}
