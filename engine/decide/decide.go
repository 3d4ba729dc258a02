package decide

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"reconcel/engine/outcome"
	"reconcel/engine/watch"
	"reconcel/rules"
	"reconcel/rules/kstatus"
)

// A Step is the action on one object of a child. A skipped object waits for
// something.
type Step struct {
	Action outcome.Action
	Waits  waitFor
}

// A waitFor is what a skipped object waits for.
type waitFor int

// What a skipped object waits for.
const (
	ForValues      waitFor = iota + 1 // Desired.Waits names them
	ForDeletion                       // of the object that has the name now
	ForOwnDeletion                    // the same, and we have just deleted that object
	ForNamespace                      // the namespace is being deleted and accepts no new objects
	ForReplacement                    // the child cannot spare the object yet
	ForOthers                         // other objects of the child could not be created
	ForName                           // another owner holds the name
)

// SkipFor returns the step that writes nothing, and why.
func SkipFor(w waitFor) Step { return Step{outcome.Skipped, w} }

// IsAbandoned reports whether an object without an owner comes from a child that
// reconcel does not update: another writer removed the owner, and reconcel does not
// restore it.
func IsAbandoned(all []*rules.Rule, o *watch.Object) bool {
	for _, r := range all {
		if r.Name != o.Rule() {
			continue
		}
		for _, c := range r.Children {
			if c.ID == o.Child() {
				return KeepsExisting(c)
			}
		}
	}
	return false
}

// KeepsExisting reports whether reconcel leaves existing objects of the child alone.
func KeepsExisting(c *rules.Child) bool { return c.OnChange == rules.Keep || c.Timeout > 0 }

// DiffersInVersions reports whether an object was made from the same rendering in other versions of its
// own kind or of its primary's. An apply writes the new ones.
func DiffersInVersions(d *rules.Desired, live *watch.Object) bool {
	hash := d.HashIn(live.AppliedVersion(), live.ControllerVersion())
	return hex.EncodeToString(hash[:]) == live.Applied()
}

// Released is what became of an object that its owner no longer needs. The zero value means
// that there is no such object any more, or that it is being deleted.
type Released struct {
	Deleted *watch.Object // its last state
	Left    bool          // others share it
	Rest    *watch.Object // its state without the owner's part; nil: unknown
}

// MostLeaves is how often an owner tries at once to leave an object that others leave, too.
const MostLeaves = 5

// ChildPosition returns the position of a child with all its objects.
func ChildPosition(rule *rules.Rule, c *rules.ChildResult) outcome.Position {
	return outcome.Position{Rule: rule.Name, Subject: fmt.Sprintf("child %q", c.Child.ID)}
}

// Unrendered returns the outcome of an object that could not be rendered.
func Unrendered(rule *rules.Rule, d *rules.Desired) (o outcome.Outcome, rendered bool) {
	switch d.State {
	case rules.Excluded:
		return outcome.Outcome{}, false
	case rules.Waiting:
		return WaitingOutcome(outcome.PositionOf(rule, d), d.Waits), false
	case rules.Failed:
		return outcome.PositionOf(rule, d).Failed(d.Err), false
	}
	return outcome.Outcome{}, true
}

// Skipped returns the outcome of a skipped object.
func Skipped(at outcome.Position, d *rules.Desired, what waitFor) outcome.Outcome {
	o := at.Says(outcome.Waiting, outcome.ReasonWaiting, "%s", what.Text(d))
	switch what {
	case ForDeletion:
		o.Retry = outcome.TerminatingWait
	case ForOwnDeletion:
		o.Retry = outcome.StaleRetry // No need to wait for the watch event: it will report our own deletion.
	case ForNamespace:
		o.Reason, o.Retry = outcome.ReasonNamespaceEnding, outcome.TerminatingWait
	case ForReplacement:
		o.State, o.Reason = outcome.Progressing, outcome.ReasonProgressing
	}
	return o
}

// Text describes what a skipped object waits for.
func (w waitFor) Text(d *rules.Desired) string {
	switch w {
	case ForDeletion, ForOwnDeletion:
		return fmt.Sprintf("waits for the deletion of the previous %s", d.Child.GVK.Kind)
	case ForNamespace:
		return fmt.Sprintf("namespace %s is being deleted; kubectl describe namespace %[1]s shows what it waits for",
			d.Identity.Namespace)
	case ForReplacement:
		return "waits for its replacement"
	case ForOthers:
		return "waits until other objects of its kind can be created"
	}
	return WaitingText(d.Waits)
}

// WaitingOutcome returns the outcome of what waits for something.
func WaitingOutcome(at outcome.Position, what []string) outcome.Outcome {
	return at.Says(outcome.Waiting, outcome.ReasonWaiting, "%s", WaitingText(what))
}

// WaitingText says what is waited for; the first ones are named.
func WaitingText(what []string) string { return "waits for " + outcome.JoinFirst(what) }

// Readiness returns the outcome of an object from its live status.
func Readiness(at outcome.Position, d *rules.Desired) outcome.Outcome {
	if d.Readiness == kstatus.Ready {
		return outcome.Outcome{}
	}
	object := d.Identity.String()
	if d.Readiness == kstatus.Stalled {
		return at.Says(outcome.Stalled, outcome.ReasonChildFailed, "%s: %s", object, d.Reason)
	}
	return at.Says(outcome.Progressing, outcome.ReasonProgressing, "%s: %s", object, d.Reason)
}

// KeptCondition lists objects that stay although no rule renders them. ok is false
// if there are none.
func KeptCondition(kept []outcome.KeptObject) (c rules.Condition, ok bool) {
	if len(kept) == 0 {
		return c, false
	}
	c = rules.Condition{Type: outcome.ConditionKept, Status: rules.True, Reason: outcome.ReasonOrphaned}
	var order []string
	objects := map[string][]string{}
	for _, s := range kept {
		if !s.Orphan {
			c.Reason = outcome.ReasonUndecided
		}
		if objects[s.Why] == nil {
			order = append(order, s.Why)
		}
		objects[s.Why] = append(objects[s.Why], s.ID.String())
	}
	slices.Sort(order)
	var words []string
	for _, why := range order {
		slices.Sort(objects[why])
		words = append(words, strings.Join(slices.Compact(objects[why]), ", ")+": "+why)
	}
	c.Message = outcome.Truncate(strings.Join(words, "; "), outcome.MostFailure)
	return c, true
}

// ErrStale means that the cache is behind. It is not a failure: the event that
// updates the cache is on its way.
var ErrStale = errors.New("the cache is behind the cluster")

// LongRetry is when a dry run looks again at a primary that it would change, if nothing
// happens. No write of its own ends what the primary waits for.
const LongRetry = 30 * time.Second

// IsEntryDone reports whether an entry of finalize needs no more waiting.
func IsEntryDone(c *rules.ChildResult) bool {
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

// EntrySubject names an entry of finalize in messages.
func EntrySubject(c *rules.ChildResult) string {
	if len(c.Objects) > 0 && c.Objects[0].Identity.Name != "" {
		id := c.Objects[0].Identity
		return id.String()
	}
	return fmt.Sprintf("%s (%s)", c.Child.ID, c.Child.GVK.Kind)
}

// ChildFails reports whether an object of a child could not be rendered or applied.
func ChildFails(c *rules.ChildResult, failed []*rules.Child) bool {
	return slices.Contains(failed, c.Child) ||
		slices.ContainsFunc(c.Objects, func(d rules.Desired) bool { return d.State == rules.Failed })
}

// Triggers of an action, as they appear in the log.
const (
	WhyStarted    = "reconcel started"
	WhyCreated    = "resource created"
	WhyRules      = "rules changed"
	WhyResource   = "resource changed"
	WhyDependency = "dependency changed"
	WhyGone       = "object was deleted"
	WhyReplaced   = "object was replaced"
	WhyPeriodic   = "periodic apply"
	WhyRequested  = "reconcile requested"
	WhySchema     = "schema changed"
	WhyGate       = "gate opened"
	WhyGenerated  = "generated values"
	WhyTakenOver  = "taken over from another installation"
	WhyUnrendered = "no longer rendered"
	WhyEnded      = "resource deleted"
	WhyOrphaned   = "resource deleted with --cascade=orphan"
	WhyShared     = "others share it"
	WhyExtended   = "it is an object of others"
	WhyDeselected = "resource no longer matches"
	WhyRuleGone   = "rule removed"
)
