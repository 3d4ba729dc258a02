package ruletest

import (
	"context"
	"errors"

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
