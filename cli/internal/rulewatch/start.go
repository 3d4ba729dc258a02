package rulewatch

import (
	"context"

	"reconcel/cli/internal/judge"
	"reconcel/rules"
)

// Approve returns the program that a process starts with: that of the files, or, if they are invalid, that of
// the files that were active last. The error is that of the files.
//
// The last files only have to be valid in this version's language and for its policy. If they are not valid for
// the cluster, they stay active, as active rules do when a schema changes.
func (w *Watch) Approve(ctx context.Context) (*rules.Program, error) {
	invalid := w.invalid
	if invalid == nil {
		invalid = w.Check(ctx, w.active)
	}
	if invalid == nil {
		return w.active.Program, nil
	}
	last := w.lastValid(ctx)
	if last == nil {
		return nil, invalid
	}
	hash := digestOf(last.Sources, nil)
	if w.Validator != nil {
		w.Validator.postpone()
	}
	if hash == w.hash && w.invalid == nil {
		return w.active.Program, nil // The validator says that they are not valid for the cluster.
	}
	w.active, w.hash = last, hash
	w.Metrics.activated(hash)
	w.Metrics.rejected()
	w.publish(w.State().activated(hash).rejected(digestOf(w.Read()), invalid))
	if len(last.Sources) == 0 {
		return last.Program, nil // The first reading of the files logs why.
	}
	w.Log.Error("rules invalid, starting with the last valid rules", "hash", hash.String(),
		"error", summary(split(invalid)))
	return last.Program, nil
}

// lastValid returns the rules that were active last, or nil if no stored rules are valid.
func (w *Watch) lastValid(ctx context.Context) *rules.Loaded {
	if w.Last == nil {
		return nil
	}
	files, err := w.Last(ctx)
	if err == nil && files == nil {
		return nil
	}
	var last *rules.Loaded
	if err == nil {
		last = rules.Compile(files)
		err = judge.Of(last, nil, w.Policy).Err()
	}
	if err != nil && ctx.Err() == nil {
		w.Log.Error("the last valid rules cannot be used", "error", summary(split(err)))
	}
	if err != nil {
		return nil
	}
	return last
}
