package engine

import (
	"errors"
	"fmt"

	"reconcel/rules"
)

// A Report is what one reconciliation decided, besides what it wrote.
type Report struct {
	Findings []Finding
	// Adopted are the objects that were taken over from nobody.
	Adopted []rules.Identity
	// Deselected names the rules that are no longer for the primary.
	Deselected []string
	// Paused: nothing but the status was looked at.
	Paused bool
}

// A Finding says why an object is not written.
type Finding struct {
	Rule   string
	Child  string         // "": it is about the primary itself
	Object rules.Identity // without a name where that is not known
	// Action is Skipped, Refused or Failed, or "" if the cluster gave no answer or
	// has changed meanwhile.
	Action  Action
	Message string
}

// findings collects what is found in a pass. A nil one collects nothing.
type findings struct {
	all     []Finding
	kept    []Finding // come last
	adopted []rules.Identity
}

// decided notes why nothing was written for an object.
func (f *findings) decided(d *rules.Desired, took step, err error) {
	if f == nil || err == nil && took.action != Skipped {
		return
	}
	found := Finding{Rule: d.Child.Rule.Name, Child: d.Child.ID, Object: d.Identity, Action: Skipped}
	if err != nil {
		found.Action, found.Message = actionOf(err), err.Error()
	} else {
		found.Message = took.waits.text(d)
	}
	f.all = append(f.all, found)
}

// adopted notes that an object was taken over.
func (f *findings) adopts(d *rules.Desired) {
	if f != nil {
		f.adopted = append(f.adopted, d.Identity)
	}
}

// actionOf says what an error means for an object that was not written; see
// Finding.Action.
func actionOf(err error) Action {
	var conflict *conflictError
	var contested *conflictLoopError
	terminal, isTerminal := errors.AsType[*terminalError](err)
	switch {
	case errors.As(err, &conflict):
		return Refused
	case errors.As(err, &contested):
		return Skipped
	case isTerminal && terminal.reason == string(rules.RuleError):
		return Failed
	case isTerminal, IsRejection(err):
		return Refused
	}
	return ""
}

// previewed returns the report of a pass that has ended.
func (p *pass) previewed() Report {
	report := Report{Adopted: p.findings.adopted, Paused: p.self.Paused()}
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
	}
	report.Findings = append(report.Findings, p.findings.kept...)
	return report
}

// unresolved returns what a rule cannot say of the primary.
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
	if r.Leaving && !p.self.HasFinalizer(r.Rule) || !r.Matches && !r.Leaving {
		return nil
	}
	if kind, why := p.unlistedKind(r); why != "" {
		return []Finding{{Rule: r.Rule.Name, Action: Skipped, Message: fmt.Sprintf("waits for kind %s: %s", kind, why)}}
	}
	for i := range r.Children {
		c := &r.Children[i]
		if r.Leaving && (c.Child.Timeout == 0 || p.finalized(r.Rule)) {
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
	if r.Leaving {
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
	if r.Err != nil || !r.Leaving || !p.self.HasFinalizer(r.Rule) {
		return nil
	}
	for _, c := range p.remains(r.Rule) {
		id := c.object.Identity(c.kind.GVK)
		if p.wants(id) || c.object.Terminating() || p.memory.hasDeleted(c.object.GetUID()) {
			continue
		}
		found = append(found, Finding{Rule: r.Rule.Name, Child: c.object.Child(), Object: id, Action: Skipped, Message: "to be deleted in a later step"})
	}
	return found
}

// keeps notes that an object is not deleted though no rule renders it.
func (f *findings) keeps(k keptObject) {
	if f != nil && !k.orphan {
		f.kept = append(f.kept, Finding{Rule: k.rule, Child: k.child, Object: k.id, Action: Skipped,
			Message: "kept although no rule renders it: " + k.why})
	}
}
