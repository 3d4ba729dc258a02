package ruletest

import (
	"context"
	"errors"
	"fmt"
	"slices"

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

	events   []sim.Event      // since the last step
	writes   []sim.Write      // since the last step, if the place counts them
	told     int              // events before that
	written  int              // writes before that
	failures []fail           // the requested failures
	programs []*rules.Program // all programs of the controller so far, including the active one
}

// play runs a case and returns its failures. It returns all failures of the first
// step that fails, because later failures would only be consequences.
func (p *player) play(ctx context.Context) []StepFailure {
	if failures := p.begin(ctx); len(failures) > 0 {
		return inStep(0, failures)
	}
	for i := range p.c.Steps {
		if failures := p.step(ctx, &p.c.Steps[i]); len(failures) > 0 {
			return inStep(i+1, failures)
		}
	}
	failures, err := p.conclude(ctx)
	if err != nil {
		failures = append(failures, p.asFailure(p.c.Pos, err)...)
	}
	return inStep(0, failures)
}

// begin creates the given objects and waits for the controller to reconcile them.
// If the first step has no actions, its expectations cover that reconciliation,
// and the step itself waits for it.
func (p *player) begin(ctx context.Context) []Failure {
	for _, m := range p.c.Given {
		for _, u := range m.objects {
			if err := p.place.Put(ctx, u); err != nil {
				return failureAt(m.Pos, "given %s: %v", title(u), err)
			}
		}
	}
	if len(p.c.Steps) > 0 && len(p.c.Steps[0].When) == 0 {
		return nil
	}
	if err := p.place.Settle(ctx); err != nil {
		return failureAt(p.c.Pos, "%v", err)
	}
	if err := p.look(ctx); err != nil {
		return p.asFailure(p.c.Pos, err)
	}
	return nil
}

func inStep(n int, failures []Failure) (all []StepFailure) {
	for _, f := range failures {
		all = append(all, StepFailure{n, f})
	}
	return all
}

func (p *player) step(ctx context.Context, s *Step) (failures []Failure) {
	p.events, p.writes = nil, nil
	for _, a := range s.When {
		if err := a.do(ctx, p); err != nil {
			return p.asFailure(s.Pos, err)
		}
	}
	restless := p.place.Settle(ctx)
	if err := p.look(ctx); err != nil {
		return p.asFailure(s.Pos, err)
	}
	if restless != nil {
		return failureAt(s.Pos, "%v", restless)
	}
	for _, e := range s.Then {
		found, err := e.check(ctx, p)
		if err != nil {
			found = p.asFailure(s.Pos, err)
		}
		failures = append(failures, found...)
	}
	return failures
}

// look records the Events and writes since the last step.
func (p *player) look(ctx context.Context) error {
	all, err := p.place.Events(ctx)
	if err != nil {
		return err
	}
	p.events, p.told = all[p.told:], len(all)
	if m, ok := p.place.(Memory); ok {
		all := m.Writes()
		p.writes, p.written = all[p.written:], len(all)
	}
	return nil
}

// asFailure returns an error as a failure, at the error's own position if it has
// one, or else at pos.
func (p *player) asFailure(pos source.Pos, err error) []Failure {
	var placed *source.Error
	if errors.As(err, &placed) {
		return []Failure{{Pos: placed.Pos, Message: placed.Message}}
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

// primary returns the primary of the case, or a failure if there is none.
func (p *player) primary(ctx context.Context, pos source.Pos, what string) (*unstructured.Unstructured, []Failure, error) {
	r := p.c.Primary
	if r == nil {
		return nil, failureAt(pos, "%s: no rule is for an object of the case: set primary", what), nil
	}
	all, err := p.place.Objects(ctx)
	if err != nil {
		return nil, nil, err
	}
	i := slices.IndexFunc(all, r.means)
	if i < 0 {
		return nil, failureAt(pos, "%s: %s is not there", what, r), nil
	}
	return all[i], nil, nil
}

// String returns the message, with the step if there is one.
func (f StepFailure) String() string {
	if f.Step == 0 {
		return f.Message
	}
	return fmt.Sprintf("step %d: %s", f.Step, f.Message)
}

// A StepFailure is a failure and the number of its step. Step 0 is for the given
// objects and the built-in checks.
type StepFailure struct {
	Step int
	Failure
}
