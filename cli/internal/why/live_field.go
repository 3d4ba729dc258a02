package why

import (
	"cmp"
	"slices"

	"reconcel/cli/internal/change"
	"reconcel/cli/internal/rendered"
	"reconcel/engine/managedfields"
	"reconcel/rules"
)

// Live is what a cluster has of the objects of a subject.
type Live struct {
	Changes []change.Change // what reconcel would do next
}

// A LiveField is a field of an object in the cluster.
type LiveField struct {
	Value    any                   `json:"value,omitempty"`
	Withheld bool                  `json:"withheld,omitempty"`
	State    FieldState            `json:"state"`
	Next     any                   `json:"next,omitempty"` // the value that reconcel writes next
	Writer   *managedfields.Writer `json:"writer,omitempty"`
}

// A FieldState says what reconcel does about a live field.
type FieldState string

// The states of live fields.
const (
	InSync    FieldState = "in sync"
	Drift     FieldState = "drift"           // another writer changed it: reconcel restores it
	Changing  FieldState = "about to change" // the rules or their inputs changed
	Ignored   FieldState = "ignored"         // by ignoreFields: it belongs to others
	Unmanaged FieldState = "not set by the rules"
	Kept      FieldState = "kept" // the object is not rendered now, and stays as it is
)

// compared returns the state of an object, which is not ready while it differs from its rendering: reconcel applies it,
// or the API server rejects that.
func (l *Live) compared(d *rules.Desired, found rendered.Finding) rendered.Finding {
	for _, c := range l.Changes {
		if found.State == rendered.Ready && c.Object == change.ObjectWithID(d.Identity) && c.Part == "" &&
			(c.Action.IsDifference() || c.Action.IsTrouble()) {
			return rendered.Finding{State: rendered.Progressing, Message: cmp.Or(c.Reason, "it differs from its rendering")}
		}
	}
	return found
}

func (l *Live) field(p subjectPart, path []any, f *Field) *LiveField {
	_, live := p.object()
	one := &LiveField{Value: valueAt(live, path), State: InSync, Withheld: f.Withheld}
	if writers := managedfields.WritersOf(live, path); len(writers) > 0 {
		one.Writer = &writers[0]
	}
	before, after, differs := l.change(p, path)
	switch {
	case p.d != nil && p.isIgnored(path):
		one.State = Ignored
	case len(f.Origins) == 0 || f.Origins[0].Role == rules.RoleDefault:
		one.State = Unmanaged
	case p.d != nil && p.d.State != rules.Rendered:
		one.State = Kept
	case differs && !managedfields.EqualValues(before, after):
		one.Next, one.State = after, Changing
		if p.d != nil && p.d.Live.Applied == p.d.HashString() {
			one.State = Drift
		}
	}
	if one.Withheld {
		one.Value, one.Next = nil, nil
	}
	return one
}

// change returns the value of a field before and after the next write of the object.
func (l *Live) change(p subjectPart, path []any) (before, after any, differs bool) {
	object := change.ObjectWithID(p.identity())
	for _, c := range l.Changes {
		if c.Object == object && c.Action.IsDifference() && c.Before != nil && c.After != nil {
			before, after = valueAt(c.Before, path), valueAt(c.After, path)
			if differs = true; !managedfields.EqualValues(before, after) {
				return before, after, true
			}
		}
	}
	return before, after, differs
}

func (p subjectPart) isIgnored(path []any) bool {
	for _, ignored := range p.d.IgnoredPaths() {
		if len(ignored) <= len(path) && slices.EqualFunc(ignored, path[:len(ignored)],
			func(key string, step any) bool { return step == key }) {
			return true
		}
	}
	return false
}
