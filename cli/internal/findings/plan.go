package findings

import (
	"slices"
	"strings"

	"reconcel/cli/internal/plan"
	"reconcel/rules"
	"reconcel/rules/source"
)

// Plan returns what a plan warns of, at the rules and children that cause it: errors for
// what fails or makes the plan incomplete, warnings for risks and held changes. A rule
// that the program no longer has is at no position.
func Plan(r *plan.Report, p *rules.Program) source.Errors {
	var all source.Errors
	add := func(at source.Pos, severity source.Severity, lines ...string) {
		e := source.NewError(at, "", strings.Join(lines, "\n"), "")
		e.Severity = severity
		all = append(all, e)
	}
	for _, text := range r.Errors {
		add(source.Pos{}, source.SeverityError, "the plan is incomplete: "+text)
	}
	for _, g := range r.Pending {
		if g.Action.IsTrouble() {
			add(position(p, g.Rule, g.Child), source.SeverityError, g.Summary()...)
		}
	}
	for _, h := range r.Held {
		add(position(p, h.Rule, ""), source.SeverityWarning, h.Message)
	}
	for _, g := range r.Risks {
		add(position(p, g.Rule, g.Child), source.SeverityWarning, g.Summary()...)
	}
	return source.Collect(p.Sources(), all)
}

// position returns where a rule or its child is, or no position.
func position(p *rules.Program, rule, child string) source.Pos {
	for _, primary := range p.Primaries() {
		for _, r := range primary.Rules {
			if r.Name != rule {
				continue
			}
			i := slices.IndexFunc(r.Children, func(c *rules.Child) bool { return c.ID == child })
			if i >= 0 {
				return r.Children[i].Pos
			}
			return r.Pos
		}
	}
	return source.Pos{}
}
