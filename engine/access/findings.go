package access

import (
	"errors"

	"k8s.io/apimachinery/pkg/types"

	"reconcel/engine/decide"
	"reconcel/engine/ident"
	"reconcel/engine/outcome"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// An Orphan is an object that stays although no rule maintains it.
type Orphan struct {
	Rule, Child string
	Primary     ident.Request
	Object      rules.Identity
}

// A Finding is the reason why an object was not written.
type Finding struct {
	Rule   string
	Child  string         // "": the primary itself
	Object rules.Identity // without a name if the name is unknown
	// Action is Skipped, Rejected or Failed. It is "" if the cluster did not
	// answer or changed in the meantime.
	Action  outcome.Action
	Message string
	// Later is what a later step does to a skipped object: Deleted, Replaced, or "" if that is
	// not certain.
	Later outcome.Action
}

// Findings collects the findings of a reconciliation. A nil *findings collects
// nothing.
type Findings struct {
	All    []Finding
	Kept   []Finding // reported last
	Taken  []Taken
	Others Others
}

// Others foretell what the other owners of a shared object do at the same time.
type Others interface {
	Foretell(o *watch.Object, owner rules.Share) Foretold
}

// Foretold is what another owner of a shared object will do.
type Foretold struct {
	Hash    string // of its part
	Leaves  bool
	Unknown bool // the part may change
}

// Parts returns the parts that the other owners of a shared object will have, and whether all of them are known.
// Without findings, they are those that the object has.
func (f *Findings) Parts(o *watch.Object, self types.UID) (all []rules.Share, known bool) {
	known = true
	for _, s := range o.Shares() {
		if s.Owner.UID == self {
			continue
		}
		if f != nil {
			next := f.Others.Foretell(o, s)
			if next.Leaves {
				continue
			}
			s.Hash, known = next.Hash, known && !next.Unknown
		}
		all = append(all, s)
	}
	return all, known
}

// Leaves reports whether another owner will leave a shared object.
func (f *Findings) Leaves(o *watch.Object, s rules.Share) bool {
	return f != nil && f.Others.Foretell(o, s).Leaves
}

// Decided records why an object was not written.
func (f *Findings) Decided(d *rules.Desired, took decide.Step, err error) {
	if f == nil || err == nil && took.Action != outcome.Skipped {
		return
	}
	found := Finding{Rule: d.Child.Rule.Name, Child: d.Child.ID, Object: d.Identity, Action: outcome.Skipped}
	if err != nil {
		found.Action, found.Message = actionOf(err), err.Error()
	} else {
		found.Message = took.Waits.Text(d)
		if took.Waits == decide.ForReplacement {
			found.Later = outcome.Replaced
		}
	}
	f.All = append(f.All, found)
}

// A Taken object is one that reconcel has not created, and that it has adopted or extended.
type Taken struct {
	ID rules.Identity
	As outcome.Action
}

// Takes records that an object was adopted or extended.
func (f *Findings) Takes(d *rules.Desired, as outcome.Action) {
	if f != nil {
		f.Taken = append(f.Taken, Taken{d.Identity, as})
	}
}

// actionOf returns the Finding.Action of an error.
func actionOf(err error) outcome.Action {
	var conflict *outcome.ConflictError
	var contested *decide.ConflictLoopError
	var sharing *decide.SharingError
	terminal, isTerminal := errors.AsType[*outcome.TerminalError](err)
	switch {
	case errors.As(err, &conflict), errors.As(err, &sharing) && sharing.Patient <= 0:
		return outcome.Rejected
	case errors.As(err, &contested), errors.As(err, &sharing):
		return outcome.Skipped
	case isTerminal && terminal.Reason == string(rules.RuleError):
		return outcome.Failed
	case isTerminal, outcome.IsRejection(err):
		return outcome.Rejected
	}
	return ""
}

// DeletedLater returns the finding of an object that a later step deletes.
func DeletedLater(rule *rules.Rule, c decide.Remaining) Finding {
	return Finding{Rule: rule.Name, Child: c.Object.Child(), Object: c.Object.Identity(c.Kind.GVK),
		Action: outcome.Skipped, Message: "to be deleted in a later step", Later: outcome.Deleted}
}

// DeletesLater records objects of sequences that are deleted after others.
func (f *Findings) DeletesLater(rule *rules.Rule, later []decide.Remaining) {
	if f == nil {
		return
	}
	for _, c := range later {
		f.Kept = append(f.Kept, DeletedLater(rule, c))
	}
}

// Keeps records that an object is kept for now although no rule renders it.
func (f *Findings) Keeps(k outcome.KeptObject) {
	if f != nil && !k.Orphan {
		f.Kept = append(f.Kept, Finding{Rule: k.Rule, Child: k.Child, Object: k.ID, Action: outcome.Skipped,
			Message: "kept although no rule renders it: " + k.Why})
	}
}
