package ruletest

import (
	"fmt"
	"strings"
	"unicode"

	"reconcel/rules"
	"reconcel/rules/source"
)

// A Case is one test: given objects and the steps that follow.
type Case struct {
	Name    string
	Pos     source.Pos
	given   []*manifest
	primary *reference // nil: no rule is for an object of the case
	steps   []step
}

// A step is a list of actions and the expectations after them.
type step struct {
	pos  source.Pos
	when []action
	then []expectation
}

// A reader reads cases. It collects the errors that the shape cannot find.
type reader struct {
	setting  Setting
	file     string
	kinds    *kindNames
	taken    map[string]source.Pos // names of cases
	entry    string                // prefix of errors: the current case and step
	errs     []*source.Error
	made     []*manifest      // the objects that the current case creates
	programs []*rules.Program // all programs of the current case
}

func (r *reader) complain(pos source.Pos, hint, format string, args ...any) {
	r.errs = append(r.errs, source.NewError(pos, "", r.entry+fmt.Sprintf(format, args...), hint))
}

func (r *reader) readCase(n *source.Node) *Case {
	c := &Case{Name: literalAt(n, "name"), Pos: n.Pos}
	r.entry, r.made, r.programs = fmt.Sprintf("case %q: ", c.Name), nil, []*rules.Program{r.setting.Program}
	if first, taken := r.taken[c.Name]; taken {
		r.complain(c.Pos, "", "the name is already used at line %d", first.Line)
	}
	r.taken[c.Name] = c.Pos
	if strings.ContainsFunc(c.Name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		r.complain(n.At("name").Pos, "write one line of text", "the name has characters that cannot be printed")
	}
	c.given = r.newObjects(n.At("given"))
	if primary := n.At("primary"); primary != nil {
		c.primary = r.reference(primary)
		if c.primary.name == "" || strings.ContainsAny(c.primary.name, "*?[") {
			r.complain(primary.Pos, "write Kind/name", "primary: %q is not the name of one object", primary.Literal().Value)
		}
	}
	for i, n := range itemsIn(n.At("steps")) {
		r.entry = fmt.Sprintf("case %q: step %d: ", c.Name, i+1)
		c.steps = append(c.steps, r.readStep(n))
	}
	if c.primary == nil {
		c.primary = r.firstPrimary()
	}
	r.checkStatus(c)
	return c
}

func (r *reader) readStep(n *source.Node) step {
	s := step{pos: n.Pos}
	for _, n := range itemsIn(n.At("when")) {
		if a := r.action(n); a != nil {
			s.when = append(s.when, a)
		}
	}
	if then := n.At("then"); then != nil {
		for i := range then.Fields {
			s.then = append(s.then, r.expectations(&then.Fields[i])...)
		}
	}
	return s
}

// firstPrimary returns the first new object of the case whose kind a rule matches, or
// nil.
func (r *reader) firstPrimary() *reference {
	for _, m := range r.made {
		for _, u := range m.objects {
			gk := u.GroupVersionKind().GroupKind()
			for _, primary := range primariesOf(r.programs) {
				if kind := r.setting.Kinds.Kind(primary.GVK); kind != nil && primary.GVK.GroupKind() == gk && u.GetName() != "" {
					return &reference{pos: m.pos, kind: gk.Kind, namespace: u.GetNamespace(), name: u.GetName(), of: kind}
				}
			}
		}
	}
	return nil
}

// primariesOf returns the primaries of several programs.
func primariesOf(programs []*rules.Program) (all []*rules.Primary) {
	for _, program := range programs {
		all = append(all, program.Primaries()...)
	}
	return all
}

// checkStatus complains about fields that the status of the primary does not have.
func (r *reader) checkStatus(c *Case) {
	if c.primary == nil || c.primary.of == nil {
		return
	}
	for i, step := range c.steps {
		r.entry = fmt.Sprintf("case %q: step %d: ", c.Name, i+1)
		for _, e := range step.then {
			if s, ok := e.(status); ok {
				r.checkFields(s.pos, c.primary.kind, c.primary.of, map[string]any{"status": s.want})
			}
		}
	}
}
