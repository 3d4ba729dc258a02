package rules

import (
	"strings"

	"reconcel/rules/expr"
	"reconcel/rules/source"
)

// A VolatileRead is an expression whose value changes with each write of the primary, although it decides
// about a write of the primary or its objects.
type VolatileRead struct {
	Pos   source.Pos
	Where string // what is written: a field of the status, a condition or a field of a child's template
	Trail string // what is read, such as self.metadata.resourceVersion
}

// Text says what is read where.
func (v VolatileRead) Text() string { return v.Where + " reads " + v.Trail }

// VolatileReads returns the expressions of the status, the conditions and the templates that read what changes with
// a write of the primary. With status, a write of the status does not change the generation.
func (r *Rule) VolatileReads(status bool) []VolatileRead {
	v := volatileReads{status: status}
	if r.status != nil {
		v.ops(r.status.ops, "")
	}
	for _, k := range r.conditions {
		subject := conditionSubject(k.typ)
		v.programs([]*expr.Program{k.when}, subject)
		v.programs(k.reason.programs(), subject)
		v.programs(k.message.programs(), subject)
	}
	for _, c := range r.Children {
		if c.OnChange != Keep && c.Timeout == 0 && c.body != nil {
			v.ops(c.body.ops, "child \""+c.ID+"\": ")
		}
	}
	return v.found
}

type volatileReads struct {
	status bool
	found  []VolatileRead
}

func (v *volatileReads) ops(ops []op, prefix string) {
	for i := range ops {
		o := &ops[i]
		v.programs(append(o.text.programs(), o.prog), prefix+o.where)
		if o.secret != nil {
			v.programs(append(o.secret.data.programs(), o.secret.plain.programs()...), prefix+o.where)
		}
		v.ops(o.ops, prefix)
	}
}

func (v *volatileReads) programs(all []*expr.Program, where string) {
	for _, p := range all {
		if p == nil {
			continue
		}
		trail, ok := p.Volatile()
		if !ok || trail != self && !strings.HasPrefix(trail, self+".") && !strings.HasPrefix(trail, self+"[") ||
			v.status && strings.HasSuffix(trail, ".generation") {
			continue
		}
		v.found = append(v.found, VolatileRead{p.Pos(), where, trail})
	}
}
