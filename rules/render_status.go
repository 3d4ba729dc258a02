package rules

import (
	"fmt"
	"strings"

	"reconcel/rules/expr"
	"reconcel/rules/syntax"
)

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
	r.executeLenient(t.ops, func(o *op, res result) {
		if res.err != nil {
			r.statusFailure(r.failure("", o.where, res.err))
			return
		}
		r.result.StatusWaits = append(r.result.StatusWaits, FieldWait{Field: o.where, Waits: r.waitsOf(res.unknown)})
	})
	r.buf = expr.Close(r.buf, '}')
	r.result.status = span{start, len(r.buf)}
}

// statusFailure records a failure of a field or condition.
func (r *run) statusFailure(f *Failure) {
	r.result.StatusErrs = append(r.result.StatusErrs, *f)
	if r.result.StatusErr == nil {
		r.result.StatusErr = f
		return
	}
	r.result.StatusErr.Message += "; " + f.Message
}

// renderConditions computes the conditions.
func (r *run) renderConditions() {
	for i := range r.rule.conditions {
		k := &r.rule.conditions[i]
		c := Condition{Type: k.typ, Status: False}
		yes, res := r.evalBool(k.when)
		switch {
		case res.err != nil:
			f := r.failure(r.conditionName(k), "when", res.err)
			r.statusFailure(f)
			c.Status, c.Reason, c.Message = Unknown, string(f.Reason), f.Message
		case res.unknown != nil:
			c.Status = Unknown
			c.Reason, c.Message = r.undecided(res)
		default:
			said := "Not" + k.typ
			if yes {
				c.Status, said = True, k.typ
			}
			if c.Reason = r.conditionText(k, "reason", k.reason); c.Reason == "" {
				c.Reason = said
			}
			c.Message = r.conditionText(k, "message", k.message)
		}
		r.result.Conditions = append(r.result.Conditions, c)
	}
}

func (r *run) conditionName(k *condition) string { return fmt.Sprintf("condition %q", k.typ) }

// undecided returns why a condition is Unknown. An excluded child does not make the
// condition False: the author decides with .? or has() what its absence means.
func (r *run) undecided(res result) (reason, message string) {
	if ids := r.excluded(res.unknown); ids != nil {
		return "Excluded", "disabled by when: " + strings.Join(ids, ", ")
	}
	return "Waiting", "waits for " + strings.Join(expr.Trails(res.unknown), ", ")
}

// conditionText computes reason or message. The text is empty while it waits.
func (r *run) conditionText(k *condition, field string, t *text) string {
	if t == nil {
		return ""
	}
	s, res := r.text(t)
	switch {
	case res.err != nil:
	case res.unknown != nil:
		return ""
	case field == "reason" && (!syntax.IsReason(s) || len(s) > 1024):
		res.err = &expr.Error{Pos: t.pos, Message: "must be one word of at most 1024 letters, digits and _"}
	case len(s) > maxMessage:
		res.err = &expr.Error{Pos: t.pos, Message: fmt.Sprintf("is longer than %d characters", maxMessage)}
	}
	if res.err != nil {
		r.statusFailure(r.failure(r.conditionName(k), field, res.err))
		return ""
	}
	return s
}
