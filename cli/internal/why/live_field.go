package why

import (
	"cmp"
	"slices"

	"reconcel/cli/internal/change"
	"reconcel/cli/internal/rendered"
	"reconcel/engine/decide"
	"reconcel/engine/managedfields"
	"reconcel/engine/outcome"
	"reconcel/rules"
)

// Live is what a cluster has of the objects of a subject.
type Live struct {
	Changes []change.Change // what reconcel would do next
	Broken  bool            // some changes are unknown
}

// A LiveField is a field of an object in the cluster.
type LiveField struct {
	Value    any                   `json:"value,omitempty"`
	Withheld bool                  `json:"withheld,omitempty"`
	State    FieldState            `json:"state"`
	Reason   string                `json:"reason,omitempty"` // why reconcel does not write the field
	Next     any                   `json:"next,omitempty"`   // the value that reconcel writes next
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
	Kept      FieldState = "kept"          // the object is not rendered now, or has onChange: keep, and stays as it is
	Paused    FieldState = "paused"        // it differs, and its resource is paused
	Differs   FieldState = "differs"       // reconcel cannot write it now
	Deleting  FieldState = "being deleted" // the object, or the resource while the field differs
	Gone      FieldState = "gone"          // the object has done its work, and no longer exists
)

// compared returns the state of an object, which is not ready while it differs from its rendering: reconcel applies it,
// or the API server rejects that.
func (l *Live) compared(d *rules.Desired, found rendered.Finding) rendered.Finding {
	for _, c := range l.Changes {
		if c.Object != change.ObjectWithID(d.Identity) || c.Part != "" {
			continue
		}
		switch {
		case found.State == rendered.Ready && (c.Action.IsDifference() || c.Action.IsTrouble()):
			return rendered.Finding{State: rendered.Progressing, Message: cmp.Or(c.Reason, "it differs from its rendering")}
		case found.State == rendered.Missing && c.Action.IsTrouble():
			return rendered.Finding{State: rendered.Failed, Message: c.Reason}
		}
	}
	return found
}

func (l *Live) field(p subjectPart, path []any, f *Field) *LiveField {
	if p.d != nil && p.d.Live.Done != nil {
		return &LiveField{State: Gone}
	}
	whole, live := p.object()
	one := &LiveField{Value: valueAt(live, path), State: InSync, Withheld: f.Withheld}
	if writers := managedfields.WritersOf(live, path); len(writers) > 0 {
		one.Writer = &writers[0]
	}
	before, after := l.change(p, path)
	switch {
	case p.d != nil && p.isIgnored(path):
		one.State = Ignored
	case len(f.Origins) == 0 || f.Origins[0].Role == rules.RoleDefault:
		one.State = Unmanaged
	case p.d != nil && l.isGoing(p.d):
		one.State = Deleting
	case p.d != nil && p.d.State != rules.Rendered:
		one.State = Kept
	case !managedfields.EqualValues(before, after):
		one.Next, one.State = after, Changing
		if p.d != nil && p.d.Live.Applied == p.d.HashString() {
			one.State = Drift
		}
	case !holds(one.Value, valueAt(whole, path)):
		one.State, one.Reason = l.unwritten(p)
	}
	if one.Withheld {
		one.Value, one.Next = nil, nil
	}
	return one
}

// isGoing reports whether an object is being deleted, or reconcel deletes it next.
func (l *Live) isGoing(d *rules.Desired) bool {
	return isDeleting(d.Live.Object) || slices.ContainsFunc(l.Changes, func(c change.Change) bool {
		return c.Object == change.ObjectWithID(d.Identity) && c.Action == outcome.Deleted
	})
}

func isDeleting(object map[string]any) bool {
	return valueAt(object, []any{"metadata", "deletionTimestamp"}) != nil
}

// unwritten says why reconcel does not write an object that differs from its rendering. Without a reason, the API
// server has the same value in another form.
func (l *Live) unwritten(p subjectPart) (state FieldState, reason string) {
	obstacle := slices.IndexFunc(l.Changes, func(c change.Change) bool {
		return (c.Action == outcome.Skipped || c.Action.IsTrouble()) && (c.Object == change.ObjectWithID(p.identity()) ||
			p.child != nil && c.Rule == p.child.Child.Rule.Name && c.Child == "" && c.Part == "")
	})
	switch {
	case rules.Paused(p.Object):
		return Paused, ""
	case p.d != nil && decide.KeepsExisting(p.d.Child):
		return Kept, ""
	case obstacle >= 0:
		return Differs, l.Changes[obstacle].Reason
	case isDeleting(p.Object):
		return Deleting, ""
	case l.Broken:
		return Differs, "what reconcel does about it is unknown"
	}
	return InSync, ""
}

// holds reports whether a live value has all of a rendered one. The API server adds defaults.
func holds(live, rendered any) bool {
	switch r := rendered.(type) {
	case map[string]any:
		l, isMap := live.(map[string]any)
		for key, value := range r {
			if !holds(l[key], value) {
				return false
			}
		}
		return isMap
	case []any:
		l, isList := live.([]any)
		if !isList || len(l) != len(r) {
			return false
		}
		for i, value := range r {
			if !holds(l[i], value) {
				return false
			}
		}
		return true
	}
	return managedfields.EqualValues(live, rendered)
}

// change returns the value of a field before and after the next write of the object. Both are nil if it is not written.
func (l *Live) change(p subjectPart, path []any) (before, after any) {
	object := change.ObjectWithID(p.identity())
	for _, c := range l.Changes {
		if c.Object == object && c.Action.IsDifference() && c.Before != nil && c.After != nil {
			before, after = valueAt(c.Before, path), valueAt(c.After, path)
			if !managedfields.EqualValues(before, after) {
				return before, after
			}
		}
	}
	return nil, nil
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
