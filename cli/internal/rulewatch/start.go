package rulewatch

import (
	"context"
	"errors"

	"reconcel/rules"
)

// Approve returns the program that a process starts with: that of the files and objects, in which the version that was
// active last stands for each that is invalid. The error is that of files that were never valid.
//
// The last versions only have to be valid in this version's language and for its policy. If they are not valid for
// the cluster, they stay active, as active rules do when a schema changes.
func (w *Watch) Approve(ctx context.Context) (*rules.Program, error) {
	if w.Objects == nil && w.invalid == nil && w.Check(ctx, w.active) == nil {
		return w.active.Program, nil
	}
	last := w.lastVersions(ctx)
	if w.Objects != nil {
		w.Objects.Expect(last.objects())
		w.Objects.Await(ctx, objectsPatience)
	}
	c := w.contentsOf(w.first, last)
	next := w.compose(ctx, c, last)
	switch {
	case ctx.Err() != nil:
		return &rules.Program{}, nil // The engine does not use it.
	case next == nil:
		return nil, errors.New("no rules can be loaded, see the log")
	}
	w.tellDropped(next)
	if err := next.neverValid(last); err != nil {
		return nil, err
	}
	if next.tolerated && w.Validator != nil {
		w.Validator.postpone()
	}
	w.composed, w.incomplete = next, next.incomplete
	if w.invalid != nil || w.Objects != nil || next.hash != w.hash {
		w.activated(next.loaded, next.hash)
	}
	wrong := next.rejected()
	if len(wrong) > 0 {
		w.Metrics.rejected()
		w.publish(w.State().rejected(w.what(), next.kept(), c.hash, wrong))
	}
	if next.kept().some { // Otherwise the first reading of the files logs why.
		w.Log.Error("rules invalid, starting with the last valid rules", "hash", next.hash.String(), "error", summary(wrong))
	}
	return next.program(), nil
}

// lastVersions returns the rules that were active last, which are unknown if none are stored.
func (w *Watch) lastVersions(ctx context.Context) versions {
	if w.Last == nil {
		return versions{}
	}
	files, err := w.Last(ctx)
	if err != nil {
		if ctx.Err() == nil {
			w.Log.Error("the last valid rules cannot be used", "error", err)
		}
		return versions{}
	}
	return versionsOf(files)
}

// tellDropped logs what is wrong with versions that were active last and cannot be active now.
func (w *Watch) tellDropped(n *composition) {
	for i := range n.picks {
		if dropped := n.picks[i].dropped; len(dropped) > 0 {
			w.Log.Error("the last valid rules cannot be used", "error", summary(dropped))
		}
	}
}
