package write

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"reconcel/engine/answer"
	"reconcel/engine/decide"
	"reconcel/engine/ident"
	"reconcel/engine/outcome"
	"reconcel/engine/plan"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// tearDown deletes the rule's objects stage by stage. A stage starts when all
// objects of the stage before it are gone. Within a stage, sequences are deleted one
// object after another.
func (t *Teardown) tearDown(ctx context.Context, r *rules.RuleResult) outcome.Outcome {
	all, err := t.Remains(r.Rule), error(nil)
	if len(all) == 0 {
		all, err = t.remainsUnlabelled(ctx, r)
	}
	if err != nil {
		return t.Answers.OutcomeOf(outcome.Position{Rule: r.Rule.Name}.Wrap(err))
	}
	if len(all) == 0 {
		return outcome.Outcome{}
	}
	slices.SortStableFunc(all, func(a, b decide.Remaining) int {
		return cmp.Or(cmp.Compare(a.Stage, b.Stage), cmp.Compare(a.Object.GetName(), b.Object.GetName()))
	})
	at, total := outcome.Position{Rule: r.Rule.Name}, outcome.Outcome{}
	var names []string
	now, _ := decide.Due(all)
	for _, c := range now {
		subject := ident.SubjectOf(c.Kind, c.Object)
		if err := t.deleteInStage(ctx, r.Rule, c); err != nil {
			deletes := outcome.Position{Rule: r.Rule.Name, Step: "delete " + subject}
			total = outcome.Worse(total, t.Answers.OutcomeOf(deletes.Wrap(fmt.Errorf("delete %s: %w", subject, err))))
		}
		if !t.hasLeft(c) {
			names = append(names, subject)
		}
	}
	if len(names) == 0 {
		return t.tearDown(ctx, r) // Others share the objects: nothing to wait for.
	}
	return outcome.Worse(at.Says(outcome.Waiting, outcome.ReasonDeleting, "waits for the deletion of %s",
		outcome.JoinFirst(names)), total).After(outcome.TerminatingWait)
}

// deleteInStage requests the deletion of one object.
func (t *Teardown) deleteInStage(ctx context.Context, rule *rules.Rule, c decide.Remaining) error {
	if t.View.Leaves(c.Object) {
		return nil
	}
	deleted, err := t.Remover.removeConfirmed(ctx, rule, c.Kind, c.Object, decide.Propagation(rule, c.Object))
	if deleted {
		t.Memory.Child(c.Object.Identity(c.Kind.GVK)).Removed = true
	}
	switch {
	case !deleted:
	case t.Self.Terminating():
		t.Cluster.LogAction(outcome.Deleted, t.Req, c.Object.Identity(c.Kind.GVK), rule.Name, decide.WhyEnded)
	default:
		t.Journal.Pruned(rule, c.Kind, c.Object)
	}
	return err
}

// hasLeft reports whether the primary no longer has a part in an object that others share.
func (t *Teardown) hasLeft(c decide.Remaining) bool {
	o := t.View.Live(c.Object.Identity(c.Kind.GVK))
	return o != nil && o.GetUID() == c.Object.GetUID() && !o.BelongsTo(t.Req)
}

// Remains lists the rule's objects that must be deleted with the primary. Two
// watches may show one object in two versions of its kind, so it skips
// duplicates.
func (t *Teardown) Remains(rule *rules.Rule) (all []decide.Remaining) {
	seen := map[types.UID]bool{}
	for k, o := range t.View.MadeBy(rule) {
		if seen[o.GetUID()] || decide.OutlivesPrimary(rule, o) || t.View.Orphaning() && !decide.IsEntry(rule, o.Child()) ||
			t.RenderedByAnother(rule, o.Identity(k.GVK)) {
			continue
		}
		seen[o.GetUID()] = true
		all = append(all, decide.Remaining{Kind: k, Object: o, Stage: decide.StageOf(rule, o.Child())})
	}
	return all
}

// remainsUnlabelled lists the primary's objects that no watch shows because another
// writer removed their labels. It reads the rendered objects live, except those that
// this process has deleted.
func (t *Teardown) remainsUnlabelled(ctx context.Context, r *rules.RuleResult) (all []decide.Remaining, err error) {
	for i := range r.Children {
		c := &r.Children[i]
		for j := range c.Objects {
			d := &c.Objects[j]
			if d.Identity.Name == "" || c.Child.OnDelete == rules.Orphan || t.View.Orphaning() && c.Child.Timeout == 0 ||
				t.RenderedByAnother(r.Rule, d.Identity) {
				continue
			}
			k, err := t.ChildWriter.writableKind(d)
			if err != nil {
				continue // It was never written.
			}
			if w := t.Memory.Find(d.Identity); w != nil && w.Removed {
				continue
			}
			existing, err := t.Reader.Get(ctx, k, d.Identity)
			if answer.IsAbsent(err) {
				continue
			}
			if err != nil {
				return nil, err
			}
			o := watch.NewObject(existing, watch.Child)
			if o.BelongsTo(t.Req) && !o.Orphan() && !t.madeByAnother(r.Rule, o) {
				all = append(all, decide.Remaining{Kind: k, Object: o, Stage: decide.StageOf(r.Rule, c.Child.ID)})
			}
		}
	}
	return all, nil
}

// madeByAnother reports whether the labels of an object are those of another rule or installation, which has written
// it last.
func (t *Teardown) madeByAnother(rule *rules.Rule, o *watch.Object) bool {
	return o.HasOwnLabel() && o.Rule() != rule.Name ||
		t.Cluster.OfOtherInstallation(o, t.Admitted.OwnersOf(rule.Name))
}

// RenderedByAnother reports whether another rule that still matches the primary renders
// the object, now or when the changes of the rules take effect for the primary.
func (t *Teardown) RenderedByAnother(rule *rules.Rule, id rules.Identity) bool {
	renders := func(r rules.RuleResult) bool {
		return r.Rule != rule && r.Matches && !r.Teardown && plan.RendersObject(&r, id)
	}
	if slices.ContainsFunc(t.Rendering.Rules, renders) {
		return true
	}
	later := t.View.LaterView()
	return later != nil && !t.Self.Terminating() && slices.ContainsFunc(later.Rendering.Rules, renders)
}
