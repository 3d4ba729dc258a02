package ruletest

import (
	"fmt"
	"slices"
	"strings"

	"reconcel/rules/source"
	"reconcel/sim"
)

// An events expects Events since the last step.
type events struct {
	pos  source.Pos
	want []event // empty: no Events
}

// An event is an expected Event. Empty fields match everything. The note matches a
// part of the Event's note.
type event struct {
	pos                source.Pos
	kind, reason, note string
	about              *reference // or nil
}

// event reads an Event: a reason, a type and a reason, or a map.
func (r *reader) event(n *source.Node) event {
	if n.Kind == source.Map {
		e := event{pos: n.Pos, kind: literalAt(n, "type"), reason: literalAt(n, "reason"), note: literalAt(n, "note")}
		if about := n.At("about"); about != nil {
			e.about = r.reference(about)
		}
		return e
	}
	text := n.Literal().Value
	kind, reason, both := strings.Cut(text, " ")
	if !both {
		kind, reason = "", kind
	}
	if both && kind != "Normal" && kind != "Warning" || strings.Contains(reason, " ") {
		r.complain(n.Pos, "for more, write {type: …, reason: …, note: …}",
			"events: %q is neither a reason nor Normal or Warning and a reason", text)
	}
	return event{pos: n.Pos, kind: kind, reason: reason}
}

func (e events) check(p *player) (all []Failure) {
	since := "since the last step:" + listEvents(p.events)
	if len(e.want) == 0 && len(p.events) > 0 {
		return failureAt(e.pos, "expected no Event, %s", since)
	}
	left := slices.Clone(p.events)
	for i := range e.want {
		want := &e.want[i]
		j := slices.IndexFunc(left, func(got sim.Event) bool { return want.matches(&got) })
		if j < 0 {
			all = append(all, failureAt(want.pos, "there was no Event %s; %s", want, since)...)
			continue
		}
		left = slices.Delete(left, j, j+1) // One Event does not satisfy two expectations.
	}
	return all
}

func (e *event) matches(got *sim.Event) bool {
	about := &got.About
	return (e.kind == "" || e.kind == got.Type) && (e.reason == "" || e.reason == got.Reason) && strings.Contains(got.Note,
		e.note) &&
		(e.about == nil || e.about.of.GVK.Kind == about.Kind && e.about.namespace == about.Namespace && (e.about.name == "" ||
			e.about.name == about.Name))
}

// String returns the expected Event as in messages.
func (e *event) String() string {
	s := strings.TrimSpace(e.kind + " " + e.reason)
	if e.note != "" {
		s += fmt.Sprintf(" that says %q", e.note)
	}
	if e.about != nil {
		s += " about " + e.about.String()
	}
	return strings.TrimSpace(s)
}

func listEvents(all []sim.Event) string {
	if len(all) == 0 {
		return " none"
	}
	var b strings.Builder
	for i := range all {
		fmt.Fprintf(&b, "\n  %s %s %s/%s: %s", all[i].Type, all[i].Reason, all[i].About.Kind, all[i].About.Name, all[i].Note)
	}
	return b.String()
}

// A writes expects a number of writes of the controller since the last step.
type writes struct {
	pos source.Pos
	n   int
}

func (e writes) check(p *player) []Failure {
	if _, err := p.memory(e.pos, "writes"); err != nil {
		return asFailure(e.pos, err)
	}
	if len(p.writes) == e.n {
		return nil
	}
	return failureAt(e.pos, "expected %d writes, got %d:%s", e.n, len(p.writes), listWrites(p.writes))
}

func listWrites(all []sim.Write) string {
	if len(all) == 0 {
		return " none"
	}
	var b strings.Builder
	for i := range all {
		w := &all[i]
		fmt.Fprintf(&b, "\n  %s %s", w.Verb, strings.ReplaceAll(w.Kind.Kind+"/"+w.Namespace+"/"+w.Name, "//", "/"))
		if w.Subresource != "" {
			b.WriteString("/" + w.Subresource)
		}
		if w.Err != nil {
			b.WriteString(": " + w.Err.Error())
		}
	}
	return b.String()
}
