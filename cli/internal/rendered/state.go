package rendered

import (
	"fmt"
	"slices"
	"strings"

	"reconcel/cli/internal/output"
	"reconcel/rules"
	"reconcel/rules/kstatus"
)

// A State is how far a resource, an object or another part of a rule is. All commands print
// these words.
type State string

// The states, the worst first.
const (
	Failed      State = "failed"      // it cannot be rendered, its name is taken, or it failed and is gone
	Stalled     State = "stalled"     // it does not become ready by itself
	Retrying    State = "retrying"    // of a resource: an error occurred that may be temporary
	Missing     State = "missing"     // the rule wants it, and it does not exist
	Waiting     State = "waiting"     // for something that does not exist yet; of a resource, also for a deletion
	Progressing State = "progressing" // it exists, and is not ready yet
	Paused      State = "paused"      // of a resource, by its annotation
	Unknown     State = "unknown"     // of a resource: reconcel has not observed this generation
	Unread      State = "unread"      // it may not be read
	Unreported  State = "unreported"  // of a resource: the kind has no conditions, and no Event is a warning
	Ready       State = "ready"
	Rendered    State = "rendered" // without a cluster, nothing says whether it is ready
	Done        State = "done"     // it was ready, and no longer exists
	Excluded    State = "excluded" // the rule does not want it
	Kept        State = "kept"     // no rule renders it, and it stays
	Deleting    State = "deleting"
	Deleted     State = "deleted" // since the last time
)

// worst are the states that are compared, in the order of their weight.
var worst = []State{Failed, Stalled, Retrying, Missing, Waiting, Progressing, Paused, Unknown, Unread, Unreported,
	Ready, Done, Excluded}

// Compare orders states, the worst first.
func Compare(a, b State) int { return slices.Index(worst, a) - slices.Index(worst, b) }

// Worse returns the worse of two states.
func Worse(a, b State) State {
	if slices.Contains(worst, b) && (a == "" || Compare(b, a) < 0) {
		return b
	}
	return a
}

// IsReady reports whether nothing is left to do.
func (s State) IsReady() bool { return s == Ready || s == Done }

// Simple returns the state as graphs and the playground show it: the same one, or the one that means nearly the same.
func (s State) Simple() State {
	switch s {
	case Done:
		return Ready
	case Progressing, Retrying:
		return Waiting
	case Stalled:
		return Failed
	case Unread:
		return Unknown
	}
	return s
}

// Colour returns the colour of the state on a terminal.
func (s State) Colour() string {
	switch s {
	case Failed, Stalled, Unread:
		return output.Red
	case Retrying, Missing, Waiting:
		return output.Yellow
	case Progressing, Excluded, Kept, Deleting, Deleted:
		return output.Cyan
	case Ready, Done:
		return output.Green
	}
	return ""
}

// A Finding is a state, and what it waits for or why it failed. Its JSON is documented.
type Finding struct {
	State   State  `json:"state"`
	Message string `json:"message,omitempty"`
}

// String returns STATE or STATE: MESSAGE.
func (f Finding) String() string { return strings.TrimSuffix(string(f.State)+": "+f.Message, ": ") }

func waitsFor(what []string) Finding {
	return Finding{Waiting, "waits for " + strings.Join(what, ", ")}
}

// OfLive returns the state of an object that no rule judges, by its own status.
func OfLive(is kstatus.Readiness, why string) Finding {
	return Finding{[]State{kstatus.Progressing: Progressing, kstatus.Ready: Ready, kstatus.Stalled: Stalled}[is], why}
}

// OfObject returns the state of one object. Its position in rules is not part of the
// message.
func OfObject(d *rules.Desired) Finding {
	switch {
	case d.State == rules.Excluded:
		return Finding{Excluded, d.ExcludedWith()}
	case d.State == rules.Failed:
		return Finding{Failed, d.Err.Error()}
	case d.State == rules.Waiting, d.Live.Object == nil && len(d.Waits) > 0:
		return waitsFor(d.Waits)
	case d.Live.Object == nil:
		return Finding{Missing, "not created yet"}
	}
	found := OfLive(d.Readiness, d.Reason)
	if d.Live.Done == nil {
		return found
	}
	switch found.State {
	case Ready:
		return Finding{Done, "it has done its work, and is gone"}
	case Stalled:
		return Finding{Failed, d.Reason}
	}
	return Finding{Waiting, d.Reason}
}

// OfChild returns the state of all objects of a child. find is OfObject or Live.Find.
func OfChild(c *rules.ChildResult, find func(*rules.Desired) Finding) Finding {
	switch c.State {
	case rules.Excluded:
		return Finding{Excluded, c.ExcludedWith()}
	case rules.Waiting:
		return waitsFor(c.Waits)
	case rules.Failed:
		return Finding{Failed, c.Err.Error()}
	}
	if len(c.Objects) == 1 && !c.Child.IsCollection() {
		return find(&c.Objects[0])
	}
	total, ready := Finding{State: Ready}, 0
	for i := range c.Objects {
		one := find(&c.Objects[i])
		if one.State.IsReady() {
			ready++
		}
		if Worse(total.State, one.State) != total.State {
			total = one
		}
	}
	count := fmt.Sprintf("%d of %d ready", ready, len(c.Objects))
	if total.Message != "" {
		count += ": " + total.Message
	}
	total.Message = count
	return total
}
