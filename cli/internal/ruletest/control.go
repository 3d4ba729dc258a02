package ruletest

import (
	"context"
	"time"

	"reconcel/rules/source"
)

// A control is an action on the time, the controller or its requests. It needs a
// cluster in memory.
type control struct {
	pos  source.Pos
	verb string
	run  func(ctx context.Context, p *player, m Memory) error
}

func (a control) do(ctx context.Context, p *player) error {
	m, err := p.memory(a.pos, a.verb)
	if err != nil {
		return err
	}
	if err := a.run(ctx, p, m); err != nil {
		return complaintAt(a.pos, "%s: %v", a.verb, err)
	}
	return nil
}

// control reads the value of advance, fail, restart or rules. It returns nil after a
// complaint.
func (r *reader) control(verb string, n *source.Node) action {
	a := control{pos: n.Pos, verb: verb}
	switch verb {
	case "advance":
		by, _ := time.ParseDuration(n.Literal().Value) // The shape has already checked it.
		a.verb += " " + by.String()
		a.run = func(ctx context.Context, _ *player, m Memory) error { return m.Advance(ctx, by) }
	case "restart":
		if n.Value == false {
			r.complain(n.Pos, "remove it", "restart: false does nothing")
		}
		a.run = func(ctx context.Context, _ *player, m Memory) error { return m.Restart(ctx) }
	case "fail":
		f := r.failure(n)
		a.run = func(_ context.Context, p *player, m Memory) error {
			m.Fail(f.Failure)
			p.failures = append(p.failures, f)
			return nil
		}
	case "rules":
		var paths []string
		for _, path := range literalsIn(n) {
			paths = append(paths, besideFile(r.file, path.Value))
		}
		program, err := r.setting.Load(paths)
		if err != nil {
			r.complain(n.Pos, "", "rules: %v", err)
			return nil
		}
		r.programs = append(r.programs, program)
		a.run = func(ctx context.Context, p *player, m Memory) error {
			p.programs = append(p.programs, program)
			return m.Reload(ctx, program)
		}
	}
	return a
}
