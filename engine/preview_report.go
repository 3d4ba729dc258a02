package engine

import (
	"errors"
	"fmt"
	"slices"

	"reconcel/rules"
)

// A Report has the decisions of one reconciliation, besides its writes.
type Report struct {
	Findings []Finding
	// Adopted are the objects without an owner that the primary adopted.
	Adopted []rules.Identity
	// Deselected names the rules that no longer match the primary.
	Deselected []string
	// Orphans are objects that no rule renders and that stay, by onDelete: orphan.
	Orphans []Orphan
	// Paused means that the primary is paused: only its status was reconciled.
	Paused bool
	// Terminating means that the primary is being deleted.
	Terminating bool

	written int // children that the caches do not show as they are now
}

// An Orphan is an object that stays although no rule maintains it.
type Orphan struct {
	Rule, Child string
	Primary     Request
	Object      rules.Identity
}

// A Finding is the reason why an object was not written.
type Finding struct {
	Rule   string
	Child  string         // "": the primary itself
	Object rules.Identity // without a name if the name is unknown
	// Action is Skipped, Rejected or Failed. It is "" if the cluster did not
	// answer or changed in the meantime.
	Action  Action
	Message string
	// Later is what a later step does to a skipped object: Deleted, Replaced, or "" if that is
	// not certain.
	Later Action
}

// waits reports whether something was not written because it waits.
func (r *Report) waits() bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Action == Skipped })
}

// findings collects the findings of a reconciliation. A nil *findings collects
// nothing.
type findings struct {
	all     []Finding
	kept    []Finding // reported last
	adopted []rules.Identity
}

// decided records why an object was not written.
func (f *findings) decided(d *rules.Desired, took step, err error) {
	if f == nil || err == nil && took.action != Skipped {
		return
	}
	found := Finding{Rule: d.Child.Rule.Name, Child: d.Child.ID, Object: d.Identity, Action: Skipped}
	if err != nil {
		found.Action, found.Message = actionOf(err), err.Error()
	} else {
		found.Message = took.waits.text(d)
		if took.waits == forReplacement {
			found.Later = Replaced
		}
	}
	f.all = append(f.all, found)
}

// adopts records that an object was adopted.
func (f *findings) adopts(d *rules.Desired) {
	if f != nil {
		f.adopted = append(f.adopted, d.Identity)
	}
}

// actionOf returns the Finding.Action of an error.
func actionOf(err error) Action {
	var conflict *conflictError
	var contested *conflictLoopError
	var sharing *sharingError
	terminal, isTerminal := errors.AsType[*terminalError](err)
	switch {
	case errors.As(err, &conflict), errors.As(err, &sharing):
		return Rejected
	case errors.As(err, &contested):
		return Skipped
	case isTerminal && terminal.reason == string(rules.RuleError):
		return Failed
	case isTerminal, IsRejection(err):
		return Rejected
	}
	return ""
}

// previewed returns the report of a finished reconciliation.
func (p *pass) previewed() Report {
	report := Report{Adopted: p.findings.adopted, Paused: p.self.Paused(), Terminating: p.self.Terminating()}
	for _, w := range p.memory.children {
		if w.object != nil {
			report.written++
		}
	}
	if report.Paused {
		return report
	}
	for i := range p.rendering.Rules {
		r := &p.rendering.Rules[i]
		if !r.Matches && r.Err == nil {
			report.Deselected = append(report.Deselected, r.Rule.Name)
		}
		report.Findings = append(report.Findings, p.unresolved(r)...)
	}
	report.Findings = append(report.Findings, p.findings.all...)
	for i := range p.rendering.Rules {
		report.Findings = append(report.Findings, p.undeleted(&p.rendering.Rules[i])...)
		report.Orphans = append(report.Orphans, p.orphans(&p.rendering.Rules[i])...)
	}
	report.Findings = append(report.Findings, p.findings.kept...)
	return report
}

// unresolved returns the objects and templates of a rule that failed to render
// or still wait.
func (p *pass) unresolved(r *rules.RuleResult) (found []Finding) {
	note := func(child string, id rules.Identity, waits []string, err *rules.Failure) {
		f := Finding{Rule: r.Rule.Name, Child: child, Object: id, Action: Skipped}
		if err != nil {
			f.Action, f.Message = Failed, err.Message
		} else {
			f.Message = waitingText(waits)
		}
		found = append(found, f)
	}
	none := rules.Identity{}
	if r.Err != nil {
		note("", none, nil, r.Err)
		return found
	}
	if r.Teardown && !p.self.HasFinalizer(r.Rule) || !r.Matches && !r.Teardown {
		return nil
	}
	if kind, why := p.unlistedKind(r); why != "" {
		return []Finding{{Rule: r.Rule.Name, Action: Skipped, Message: fmt.Sprintf("waits for kind %s: %s", kind, why)}}
	}
	for i := range r.Children {
		c := &r.Children[i]
		if r.Teardown && (c.Child.Timeout == 0 || p.finalized(r.Rule)) {
			continue
		}
		switch c.State {
		case rules.Waiting, rules.Failed:
			note(c.Child.ID, rules.Identity{GVK: c.Child.GVK}, c.Waits, c.Err)
			continue
		}
		for j := range c.Objects {
			if d := &c.Objects[j]; d.State == rules.Waiting || d.State == rules.Failed {
				note(c.Child.ID, d.Identity, d.Waits, d.Err)
			}
		}
	}
	if r.Teardown {
		return found
	}
	if r.PatchErr != nil || len(r.PatchWaits) > 0 {
		note("", none, r.PatchWaits, r.PatchErr)
	}
	for i := range r.StatusErrs {
		note("", none, nil, &r.StatusErrs[i])
	}
	return found
}

// undeleted returns the objects that a rule deletes in a later step of a teardown.
func (p *pass) undeleted(r *rules.RuleResult) (found []Finding) {
	if r.Err != nil || !r.Teardown || !p.self.HasFinalizer(r.Rule) {
		return nil
	}
	for _, c := range p.remains(r.Rule) {
		id := c.object.Identity(c.kind.GVK)
		if p.wants(id) || p.leaves(c.object) {
			continue
		}
		found = append(found, deletedLater(r.Rule, c))
	}
	return found
}

// orphans returns the objects of a rule that no rule renders and that stay.
func (p *pass) orphans(r *rules.RuleResult) (found []Orphan) {
	if r.Err != nil {
		return nil
	}
	for k, o := range p.madeBy(r.Rule) {
		id := o.Identity(k.GVK)
		if outlivesPrimary(r.Rule, o) && !p.wants(id) && !p.leaves(o) && p.rendering.MayRender(r.Rule, o.Child(), id) == "" {
			found = append(found, Orphan{Rule: r.Rule.Name, Child: o.Child(), Primary: p.req, Object: id})
		}
	}
	return found
}

func deletedLater(rule *rules.Rule, c remaining) Finding {
	return Finding{Rule: rule.Name, Child: c.object.Child(), Object: c.object.Identity(c.kind.GVK), Action: Skipped, Message: "to be deleted in a later step", Later: Deleted}
}

// deletesLater records objects of sequences that are deleted after others.
func (f *findings) deletesLater(rule *rules.Rule, later []remaining) {
	if f == nil {
		return
	}
	for _, c := range later {
		f.kept = append(f.kept, deletedLater(rule, c))
	}
}

// keeps records that an object is kept for now although no rule renders it.
func (f *findings) keeps(k keptObject) {
	if f != nil && !k.orphan {
		f.kept = append(f.kept, Finding{Rule: k.rule, Child: k.child, Object: k.id, Action: Skipped,
			Message: "kept although no rule renders it: " + k.why})
	}
}
