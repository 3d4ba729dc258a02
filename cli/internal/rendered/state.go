package rendered

import (
	"fmt"
	"slices"
	"strings"

	"reconcel/rules"
	"reconcel/rules/kstatus"
)

// A State is how far a part of a rule is for one resource.
type State string

// The states, worst first.
const (
	Failed   State = "failed"  // it cannot be rendered, or the object has failed
	Missing  State = "missing" // the rule wants it, and it does not exist
	Waiting  State = "waiting" // for another object, or until it is ready
	Unknown  State = "unknown" // it may not be read
	Ready    State = "ready"
	Excluded State = "excluded" // the rule does not want it
)

// worst are the states in the order of their weight.
var worst = []State{Failed, Missing, Waiting, Unknown, Ready, Excluded}

// Worse returns the worse of two states.
func Worse(a, b State) State {
	if i := slices.Index(worst, b); i >= 0 && (a == "" || i < slices.Index(worst, a)) {
		return b
	}
	return a
}

// A Finding is a state, and what it waits for or why it failed.
type Finding struct {
	State   State
	Message string
}

func waitsFor(what []string) Finding {
	return Finding{Waiting, "waits for " + strings.Join(what, ", ")}
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
	case d.Readiness == kstatus.Ready:
		return Finding{State: Ready}
	case d.Readiness == kstatus.Stalled:
		return Finding{Failed, d.Reason}
	}
	return Finding{Waiting, d.Reason}
}

// OfChild returns the state of all objects of a child. find is OfObject or Resource.Find.
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
		if one.State == Ready {
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
