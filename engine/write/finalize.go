package write

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/engine/access"
	"reconcel/engine/decide"
	"reconcel/engine/ident"
	"reconcel/engine/outcome"
	"reconcel/rules"
)

// A Teardown ends what a rule has created for a primary, and keeps the finalizer until then.
type Teardown struct {
	*access.Subject
	View        *access.View
	Reader      *access.Reader
	Answers     *access.Answers
	Journal     *access.Journal
	Metadata    *access.Metadata
	DoneMarks   *DoneMarks
	Remover     *Remover
	ChildWriter *ChildWriter
	Children    *Children
	Patches     *Patches
	Pruner      *Pruner
}

// End tears down what a rule created for a primary that is being deleted or
// deselected, and keeps the primary's finalizer until that is done. Each step
// follows from what exists: teardown can stop at any step and be resumed by
// another process.
func (t *Teardown) End(ctx context.Context, r *rules.RuleResult) outcome.Outcome {
	if !t.Self.HasFinalizer(r.Rule) {
		return outcome.Outcome{} // The garbage collector deletes its children by their owner references.
	}
	// The second check is for a kind that the cache has lost during the teardown.
	for _, step := range []func(context.Context, *rules.RuleResult) outcome.Outcome{t.awaitKinds, t.finalize, t.disown,
		t.tearDown, t.awaitKinds, t.releasePrimary} {
		if o := step(ctx, r); o.State != outcome.Ready {
			return o
		}
	}
	return outcome.Outcome{}
}

// awaitKinds waits until all kinds are listed that the rule may have created objects of.
func (t *Teardown) awaitKinds(ctx context.Context, r *rules.RuleResult) outcome.Outcome {
	kind, why := t.View.Unlisted(ctx, r.Rule)
	if why == "" {
		return outcome.Outcome{}
	}
	// Retry: a watch may no longer show the primary, so no event may come.
	return outcome.Position{Rule: r.Rule.Name}.Says(outcome.Waiting, outcome.ReasonDeleting, "waits for kind %s: %s", kind,
		why).After(outcome.ForbiddenRetry)
}

// Leave deletes what a rule without a finalizer created for a deselected primary,
// and removes the rule's fields from it.
func (t *Teardown) Leave(ctx context.Context, r *rules.RuleResult) outcome.Outcome {
	o := t.Pruner.Prune(ctx, r, nil)
	if o.State != outcome.Ready {
		return o
	}
	return outcome.Worse(outcome.Worse(o, t.Answers.OutcomeOf(t.Patches.revert(ctx, r.Rule))),
		t.Answers.OutcomeOf(t.DoneMarks.ForgetDone(ctx, r.Rule)))
}

// releasePrimary is the last step: it removes all traces of the rule from the primary.
func (t *Teardown) releasePrimary(ctx context.Context, r *rules.RuleResult) outcome.Outcome {
	if !t.Self.Terminating() {
		if err := t.Patches.revert(ctx, r.Rule); err != nil {
			return t.Answers.OutcomeOf(err)
		}
	}
	if err := t.Metadata.Release(ctx, r.Rule); err != nil {
		return t.Answers.OutcomeOf(outcome.Position{Rule: r.Rule.Name, Step: "release"}.Wrap(err))
	}
	delete(t.Memory.DeselectedAt, r.Rule.Name)
	t.Log.Info("teardown finished", "object", t.Req.String(), "rule", r.Rule.Name)
	return outcome.Outcome{}
}

// finalize creates the entries of finalize, and waits until each is ready or timed
// out.
func (t *Teardown) finalize(ctx context.Context, r *rules.RuleResult) outcome.Outcome {
	total, entries := outcome.Outcome{}, 0
	if t.Metadata.Finalized(r.Rule) {
		return total
	}
	for i := range r.Children {
		if c := &r.Children[i]; c.Child.Timeout > 0 {
			entries++
			total = outcome.Worse(total, t.finalizeOne(ctx, r.Rule, c))
		}
	}
	if entries == 0 {
		return total
	}
	if total.State != outcome.Ready {
		return outcome.Worse(total, t.DoneMarks.Remember(ctx, r))
	}
	if err := t.Metadata.MarkFinalized(ctx, r.Rule); err != nil {
		return t.Answers.OutcomeOf(outcome.Position{Rule: r.Rule.Name}.Wrap(err))
	}
	return outcome.Outcome{}
}

func (t *Teardown) finalizeOne(ctx context.Context, rule *rules.Rule, c *rules.ChildResult) outcome.Outcome {
	if decide.IsEntryDone(c) {
		return outcome.Outcome{}
	}
	since := t.endingSince(rule, c)
	rest := since.Add(c.Child.Timeout).Sub(t.Clock.Now())
	if rest <= 0 {
		message := fmt.Sprintf("rule %q continues without %s, which was not ready within %s", rule.Name,
			decide.EntrySubject(c), c.Child.Timeout)
		if t.logIncomplete(outcome.ReasonFinalizeTimeout, message) {
			t.Events.Warning(t.Self, outcome.ReasonFinalizeTimeout, message)
		}
		return outcome.Outcome{}
	}
	o := t.Children.Child(ctx, rule, c)
	switch {
	case o.State == outcome.Ready:
		return outcome.Outcome{}
	case o.Reason == outcome.ReasonNamespaceEnding:
		t.skip(c, fmt.Sprintf("rule %q continues without %s, which cannot be created in a namespace that is being deleted",
			rule.Name, decide.EntrySubject(c)))
		return o.Quietly()
	}
	// Report the end of the wait: the remaining time would change every second.
	waits := outcome.Position{Rule: rule.Name}.Says(outcome.Waiting, outcome.ReasonFinalizing, "waits for %s until %s: %s",
		decide.EntrySubject(c), since.Add(c.Child.Timeout).UTC().Format(time.RFC3339), o.Text)
	return outcome.Worse(waits, o.Quietly()).After(rest)
}

// endingSince returns the start of the timeout of an entry of finalize: the deletion
// of the primary; for a live primary the creation of the entry's object; without an
// object the first time that this process saw the primary deselected.
func (t *Teardown) endingSince(rule *rules.Rule, c *rules.ChildResult) time.Time {
	const second = time.Second // Timestamps have no fractions: the entry gets its full timeout.
	if at := t.Self.GetDeletionTimestamp(); at != nil {
		return at.Add(second)
	}
	for i := range c.Objects {
		if o := c.Objects[i].Live.Object; o != nil {
			live := unstructured.Unstructured{Object: o}
			return live.GetCreationTimestamp().Add(second)
		}
	}
	return t.Memory.LeftAt(rule.Name, t.Clock.Now())
}

// skip reports an entry that cannot be created. It only logs if the primary is in the
// same namespace, because the API server would reject an Event there too.
func (t *Teardown) skip(c *rules.ChildResult, message string) {
	if t.logIncomplete(outcome.ReasonFinalizeSkipped, message) && len(c.Objects) > 0 &&
		c.Objects[0].Identity.Namespace != t.Req.Namespace {
		t.Events.Warning(t.Self, outcome.ReasonFinalizeSkipped, message)
	}
}

// logIncomplete logs a message once, and reports whether it did.
func (t *Teardown) logIncomplete(reason, message string) bool {
	news := t.Memory.IsNews(reason+" "+message, message)
	if news {
		t.Log.Warn("finalize incomplete", "object", t.Req.String(), "reason", reason, "message", message)
	}
	return news
}

// EnsureFinalizer adds the rule's finalizer to the primary if it needs one, before any write
// that depends on it, and removes the finalizer if it is no longer needed. If another writer
// undoes that again and again, it does so more and more slowly.
func (t *Teardown) EnsureFinalizer(ctx context.Context, r *rules.RuleResult) error {
	has, edit := t.Self.HasFinalizer(r.Rule), t.Metadata.DropFinalizer
	switch needs := r.NeedsFinalizer(); {
	case needs && !has, has && t.Metadata.Finalized(r.Rule):
		edit = t.Metadata.AddFinalizer
	case needs || !has || !t.dispensable(r):
		return nil
	}
	name := rules.Finalizer(r.Rule.Name)
	mark := t.Memory.Mark(name)
	var hash [16]byte // of the edit
	if needs := r.NeedsFinalizer(); needs {
		hash[0] = 1
	}
	version := t.MetadataVersion()
	if err := mark.Rejected.Stands(t.Subject, hash, version); err != nil {
		return err
	}
	before, repeats := mark.Damper, mark.Rejected.Repeats(hash)
	if wait := mark.Repair(t.Clock.Now()); wait > 0 {
		return &decide.ConflictLoopError{
			Object: t.Req.String(), By: "another writer changed the finalizer " + name, Wait: wait,
			Remedy: "let that writer leave out metadata.finalizers",
		}
	}
	err := edit(ctx, r.Rule)
	if mark.Uncount(before, err); repeats && err != nil {
		mark.Damper = before
	}
	return t.Answers.NoteRejection(&mark.Rejected, hash, version, err)
}

// dispensable reports whether a live primary no longer needs the rule's finalizer.
func (t *Teardown) dispensable(r *rules.RuleResult) bool {
	for i := range r.Children {
		if s := r.Children[i].State; s != rules.Rendered && s != rules.Excluded {
			return false // A finalizer may be needed as soon as it can be rendered.
		}
	}
	return !slices.ContainsFunc(t.Remains(r.Rule), func(c decide.Remaining) bool {
		_, controlled := c.Object.Controller()
		return !controlled
	})
}

// disown removes the primary from the rule's objects that it was deleted without. The entries of
// finalize are not among them: they belong to the deletion.
func (t *Teardown) disown(ctx context.Context, r *rules.RuleResult) outcome.Outcome {
	if !t.View.Orphaning() {
		return outcome.Outcome{}
	}
	total := outcome.Outcome{}
	for k, o := range t.View.MadeBy(r.Rule) {
		if t.View.Leaves(o) || decide.IsEntry(r.Rule, o.Child()) || decide.OutlivesPrimary(r.Rule, o) {
			continue
		}
		if err := t.Cluster.DisownObject(ctx, r.Rule, t.Req, k, o); err != nil {
			total = outcome.Worse(total, t.Answers.OutcomeOf(
				outcome.Position{Rule: r.Rule.Name, Step: "orphan " + ident.SubjectOf(k, o)}.Wrap(
					fmt.Errorf("orphan %s: %w", ident.SubjectOf(k, o), err))))
		}
	}
	return total
}
