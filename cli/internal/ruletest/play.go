package ruletest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/rules"
	"reconcel/rules/source"
	"reconcel/sim"
)

// A player runs one case.
type player struct {
	suite   *Suite
	options *Options
	c       *Case
	place   Place

	objects  []*unstructured.Unstructured // after the last step
	events   []sim.Event                  // since the last step
	writes   []sim.Write                  // since the last step, if the place counts them
	told     int                          // events before that
	written  int                          // writes before that
	failures []failure                    // the requested failures
	programs []*rules.Program             // all programs of the controller so far, including the active one
}

// play runs a case and returns its failures. It returns all failures of the first
// step that fails, because later failures would only be consequences.
func (p *player) play(ctx context.Context) []Failure {
	if failures := p.begin(ctx); len(failures) > 0 {
		return failures
	}
	for i := range p.c.steps {
		if failures := p.step(ctx, &p.c.steps[i]); len(failures) > 0 {
			for j := range failures {
				failures[j].Step = i + 1
			}
			return failures
		}
	}
	failures, err := p.conclude(ctx)
	return append(failures, asFailure(p.c.Pos, err)...)
}

// begin creates the given objects and waits for the controller to reconcile them.
// If the first step has no actions, its expectations cover that reconciliation,
// and the step itself waits for it.
func (p *player) begin(ctx context.Context) []Failure {
	for _, m := range p.c.given {
		for _, u := range m.objects {
			if err := p.place.Put(ctx, u); err != nil {
				return failureAt(m.pos, "given %s: %v", titleOf(u), err)
			}
		}
	}
	if len(p.c.steps) > 0 && len(p.c.steps[0].when) == 0 {
		return nil
	}
	return p.settle(ctx, p.c.Pos)
}

func (p *player) step(ctx context.Context, s *step) (failures []Failure) {
	p.events, p.writes = nil, nil
	for _, a := range s.when {
		if err := a.do(ctx, p); err != nil {
			return asFailure(s.pos, err)
		}
	}
	if failures := p.settle(ctx, s.pos); len(failures) > 0 {
		return failures
	}
	for _, e := range s.then {
		failures = append(failures, e.check(p)...)
	}
	return failures
}

// settle waits until the controller has nothing left to do. It records the objects, and
// the Events and writes since the last step.
func (p *player) settle(ctx context.Context, pos source.Pos) []Failure {
	restless := p.place.Settle(ctx)
	all, err := p.place.Events(ctx)
	if err != nil {
		return asFailure(pos, err)
	}
	p.events, p.told = all[p.told:], len(all)
	if m, ok := p.place.(Memory); ok {
		all := m.Writes()
		p.writes, p.written = all[p.written:], len(all)
	}
	if restless == nil {
		all, err := p.place.Objects(ctx)
		p.objects, restless = hideGenerated(p.programs[len(p.programs)-1], all), err
	}
	return asFailure(pos, restless)
}

// asFailure returns an error as a failure, at the error's own position if it has
// one, or else at pos.
func asFailure(pos source.Pos, err error) []Failure {
	var placed *source.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &placed):
		return failureAt(placed.Pos, "%s", placed.Message)
	}
	return failureAt(pos, "%v", err)
}

// memory returns the place as a Memory, or an error with the position that needs
// it.
func (p *player) memory(pos source.Pos, what string) (Memory, error) {
	if m, ok := p.place.(Memory); ok {
		return m, nil
	}
	return nil, complaintAt(pos, "%s: only a cluster in memory can do that", what)
}

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
