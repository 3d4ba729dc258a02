package ruletest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"reconcel/sim"
)

func (e events) prepare(p *preparer) {
	for i := range e.want {
		if e.want[i].about != nil {
			p.reference(e.want[i].about)
		}
	}
}

func (e events) check(_ context.Context, p *player) (all []Failure, err error) {
	since := "since the last step:" + listEvents(p.events)
	if len(e.want) == 0 && len(p.events) > 0 {
		return failureAt(e.pos, "expected no Event, %s", since), nil
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
	return all, nil
}

func (e *event) matches(got *sim.Event) bool {
	about := &got.About
	return (e.kind == "" || e.kind == got.Type) && (e.reason == "" || e.reason == got.Reason) && strings.Contains(got.Note, e.note) &&
		(e.about == nil || e.about.of.GVK.Kind == about.Kind && e.about.Namespace == about.Namespace && (e.about.Name == "" || e.about.Name == about.Name))
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

func (e writes) prepare(*preparer) {}

func (e writes) check(_ context.Context, p *player) ([]Failure, error) {
	if _, err := p.memory(e.pos, "writes"); err != nil {
		return nil, err
	}
	if len(p.writes) == e.n {
		return nil, nil
	}
	return failureAt(e.pos, "expected %d writes, got %d:%s", e.n, len(p.writes), listWrites(p.writes)), nil
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
