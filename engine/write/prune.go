package write

import (
	"context"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"reconcel/engine/access"
	"reconcel/engine/decide"
	"reconcel/engine/ident"
	"reconcel/engine/outcome"
	"reconcel/engine/plan"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// A Pruner deletes the objects that no rule renders any more.
type Pruner struct {
	*access.Subject
	View    *access.View
	Answers *access.Answers
	Remover *Remover
	Patches *Patches
}

// Prune deletes the children of one rule that no rule of the primary renders.
// It decides for each object alone: a child that waits does not keep the objects
// of another child, and a failed delete does not stop the others. The outcome
// lists the kept objects.
//
// A replaced object is only deleted when its successor exists. failed has the
// children that could not be written.
func (p *Pruner) Prune(ctx context.Context, r *rules.RuleResult, failed []*rules.Child) outcome.Outcome {
	var kept []outcome.KeptObject
	var all []decide.Remaining
	objects := 0
	for k, o := range p.View.MadeBy(r.Rule) {
		objects++
		id := o.Identity(k.GVK)
		if p.View.Wants(id) {
			continue
		}
		if !p.View.Leaves(o) {
			if k := p.keeping(r, o, id, failed); k.Why != "" {
				kept = append(kept, k)
				p.Findings.Keeps(k)
				continue
			}
		}
		all = append(all, decide.Remaining{Kind: k, Object: o, Stage: decide.PruneStageOf(r.Rule, o.Child())})
	}
	if len(all) == 0 {
		return outcome.Outcome{Kept: kept}
	}
	all, spare := p.spareExcluded(r, all, objects)
	for _, k := range spare {
		kept = append(kept, k)
		p.Findings.Keeps(k)
	}
	total := p.pruneDue(ctx, r.Rule, all)
	total.Kept = kept
	return total
}

// spareExcluded keeps the objects of children without a when that are excluded together with a child that they read, if
// they are more than the rule may delete: nothing in the rules says that a change of the primary deletes them.
func (p *Pruner) spareExcluded(r *rules.RuleResult, all []decide.Remaining,
	objects int) (rest []decide.Remaining, spare []outcome.KeptObject) {
	if r.Teardown {
		return all, nil
	}
	for _, c := range all {
		id := c.Object.Identity(c.Kind.GVK)
		with := ""
		if !p.View.Leaves(c.Object) {
			with = r.ExcludedWith(c.Object.Child(), id)
		}
		if with == "" {
			rest = append(rest, c)
			continue
		}
		spare = append(spare, outcome.KeptObject{Rule: r.Rule.Name, Child: c.Object.Child(), ID: id,
			Why: fmt.Sprintf("child %q has no when, but %s; to delete it, give it the same when, or raise maxDeletions",
				c.Object.Child(), with)})
	}
	if len(spare) <= p.Cluster.MostDeletions(r.Rule, objects) {
		return all, nil
	}
	return rest, spare
}

// pruneDue deletes those of the objects whose deletion waits for no other one.
func (p *Pruner) pruneDue(ctx context.Context, rule *rules.Rule, all []decide.Remaining) outcome.Outcome {
	if len(all) == 0 {
		return outcome.Outcome{}
	}
	total := outcome.Outcome{}
	now, later := decide.Due(all)
	for _, c := range now {
		if p.View.Leaves(c.Object) {
			continue
		}
		if err := p.Remover.remove(ctx, rule, c.Kind, c.Object); err != nil {
			step := "prune " + ident.SubjectOf(c.Kind, c.Object)
			at := outcome.Position{Rule: rule.Name, Step: step}
			total = outcome.Worse(total, p.Answers.OutcomeOf(at.Wrap(fmt.Errorf("%s: %w", step, err))))
		}
	}
	if len(later) == 0 {
		return total
	}
	var names []string
	for _, c := range now {
		if rule.Ordered || decide.IndexOf(c.Object) >= 0 {
			names = append(names, ident.SubjectOf(c.Kind, c.Object))
		}
	}
	p.Findings.DeletesLater(rule, later)
	return outcome.Worse(total, outcome.Position{Rule: rule.Name}.Says(outcome.Waiting, outcome.ReasonWaiting,
		"waits for the deletion of %s, and then deletes %d more, one after another", outcome.JoinFirst(names),
		len(later)).After(outcome.TerminatingWait))
}

// keeping returns why an object that no rule renders is kept. An empty reason
// means that prune deletes it. Objects that the rule orphans are never deleted.
// Objects that may still be rendered or have no successor yet are kept for now.
func (p *Pruner) keeping(r *rules.RuleResult, o *watch.Object, id rules.Identity,
	failed []*rules.Child) outcome.KeptObject {
	k := outcome.KeptObject{Rule: r.Rule.Name, Child: o.Child(), ID: id}
	if others, _ := p.Findings.Parts(o, p.Req.UID); len(others) == 0 && decide.OutlivesPrimary(r.Rule, o) {
		k.Why, k.Orphan = "onDelete: orphan", true
		return k
	}
	if k.Why = p.Rendering.MayRender(r.Rule, o.Child(), id); k.Why == "" && r.Matches {
		k.Why = p.awaited(r, o, id, failed)
	}
	_, held := p.View.HoldOf(r.Rule)
	if k.Why != "" || held && p.Primary.Next == nil {
		return k // A held rule goes on as it was.
	}
	if name := p.View.HeirOf(id); name != "" {
		k.Why = fmt.Sprintf("rule %q takes it over", name)
		return k
	}
	if later := p.View.LaterView(); later != nil &&
		(later.Wants(id) || later.Rendering.MayRender(r.Rule, o.Child(), id) != "") {
		k.Why = "a changed rule renders it when the change takes effect for the resource"
	}
	return k
}

// awaited names the child that replaces an object but has no object yet. The old
// object is kept until then, because a failure must never leave fewer objects
// than before. If the rule still has the object's child, only its name changed,
// and the child is the replacement. Otherwise the child may have been renamed to
// any failed child of the same kind.
func (p *Pruner) awaited(r *rules.RuleResult, o *watch.Object, id rules.Identity, failed []*rules.Child) (why string) {
	own := slices.ContainsFunc(r.Rule.Children, func(c *rules.Child) bool { return c.ID == o.Child() })
	for i := range r.Children {
		c := &r.Children[i]
		if own && c.Child.ID != o.Child() || !own && !decide.ChildFails(c, failed) || c.Child.HasReplicas() ||
			!c.Renders(id.GVK.GroupKind()) {
			continue
		}
		if !slices.ContainsFunc(c.Objects, func(d rules.Desired) bool { return p.made(d.Identity, c.Child.ID, o.Child()) }) {
			return fmt.Sprintf("child %q may replace it and does not exist yet", c.Child.ID)
		}
	}
	return ""
}

// made reports whether an object exists that was created from one of the
// children.
func (p *Pruner) made(id rules.Identity, children ...string) bool {
	live := p.View.Observed(id).Object
	return live != nil && slices.Contains(children, rules.LabelsOf(live).Get(rules.LabelChild))
}

// inheritsFromBundle reports whether an object belongs to a bundle of the same installation
// whose rule is gone, or does not want it any more. Another rule takes over the objects that it renders.
func (k *Known) inheritsFromBundle(d *rules.Desired, o *watch.Object) bool {
	former, tracked := o.Owner()
	if !tracked || former.Kind != rules.BundleKind.GroupKind() || k.Primary.Kind != former.Kind || !o.BelongsTo(former) ||
		o.Terminating() {
		return false
	}
	return k.released && former == rules.SiblingOf(k.Primary, d.Child.Rule.Name, o.Rule())
}

// PruneOrphaned deletes the primary's orphaned objects that certainly no rule
// renders or keeps.
func (p *Pruner) PruneOrphaned(ctx context.Context) (total outcome.Outcome) {
	all := p.Primary.OrphanedObjects.List(p.Req)
	if len(all) == 0 {
		return total
	}
	mayNeed := slices.Concat(p.View.Bundles(), []*access.View{p.View})
	if later := p.View.LaterView(); later != nil {
		mayNeed = append(mayNeed, later)
	}
	for _, l := range all {
		why, err := p.pruneOrphanedObject(ctx, &l, mayNeed)
		switch {
		case errors.Is(err, decide.ErrStale) && !p.Confirmed:
			total = total.After(p.Answers.RetryStale()) // The primary changed since this reconciliation read it.
			continue
		case errors.Is(err, decide.ErrStale): // The next cleanup finds it again, unless another rule has it by then.
		case err != nil:
			at := outcome.Position{Step: "removed rule " + l.Rule.Name}
			if l.Object != nil {
				at.Step += " " + ident.SubjectOf(l.Kind, l.Object)
			}
			o := p.Answers.OutcomeOf(at.Wrap(err))
			total, why = outcome.Worse(total, o.Quietly()), o.Text
		}
		p.Primary.OrphanedObjects.Note(p.Req, l, why)
	}
	return total
}

// pruneOrphanedObject deletes an orphaned object unless one of the views may
// need it. It returns why the object stays.
func (p *Pruner) pruneOrphanedObject(ctx context.Context, l *plan.OrphanedObject,
	mayNeed []*access.View) (why string, err error) {
	if l.Object == nil {
		return p.pruneOrphanedPatch(ctx, l.Rule)
	}
	id := l.Object.Identity(l.Kind.GVK)
	for _, other := range mayNeed {
		if why := other.MayNeed(l, id); why != "" {
			return why, nil
		}
	}
	return "", p.Remover.remove(ctx, l.Rule, l.Kind, l.Object)
}

// A LeftObject is an object of a removed rule.
type LeftObject struct {
	Of plan.RuleOf
	ID rules.Identity
}

// A Remover deletes objects of a primary that was read live.
type Remover struct {
	*access.Subject
	Reader  *access.Reader
	Answers *access.Answers
	Journal *access.Journal
}

// remove deletes one object of a rule that the primary no longer needs.
func (r *Remover) remove(ctx context.Context, rule *rules.Rule, k ident.Kind, o *watch.Object) error {
	deleted, err := r.removeConfirmed(ctx, rule, k, o, decide.Propagation(rule, o))
	if deleted {
		r.Journal.Pruned(rule, k, o)
	}
	return err
}

// removeConfirmed deletes one object of a rule after a live read of the primary, so
// that a stale cache cannot cause a deletion. It reports whether there was an object.
func (r *Remover) removeConfirmed(ctx context.Context, rule *rules.Rule, k ident.Kind, o *watch.Object,
	policy metav1.DeletionPropagation) (deleted bool, err error) {
	if err := r.Answers.DeletionStands(o); err != nil {
		return false, err
	}
	if err := r.Reader.Confirm(ctx); err != nil {
		return false, err
	}
	was, err := r.Cluster.DeleteOwned(ctx, rule, k, o, r.Req, policy, r.Findings.Leaves)
	if err = r.Answers.NoteDeletion(o, err); err != nil {
		return false, err
	}
	if was.Left {
		r.noteLeft(o.Identity(k.GVK), was.Rest)
		return false, nil
	}
	version := o.GetResourceVersion()
	if was.Deleted != nil {
		version = was.Deleted.GetResourceVersion()
	}
	r.Memory.NoteDeletion(o.GetUID(), access.Deletion{Identity: o.Identity(k.GVK), Version: version})
	return was.Deleted != nil, nil
}

// noteLeft remembers the state of a shared object without the primary's part, if it is known.
func (r *Remover) noteLeft(id rules.Identity, rest *watch.Object) {
	w := r.Memory.Child(id)
	*w = access.Written{Identity: id, Damper: w.Damper, Removed: true, Object: rest}
	if rest != nil {
		w.Version = rest.GetResourceVersion()
	}
}
