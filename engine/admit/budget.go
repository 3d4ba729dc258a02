package admit

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"reconcel/engine/access"
	"reconcel/engine/cleanup"
	"reconcel/engine/decide"
	"reconcel/engine/ident"
	"reconcel/engine/inventory"
	"reconcel/engine/outcome"
	"reconcel/engine/plan"
	"reconcel/engine/reconcile"
	"reconcel/engine/watch"
	"reconcel/engine/write"
	"reconcel/rules"
)

// A deletionCounter counts what changed rules would delete and replace of one primary.
type deletionCounter struct {
	*access.Subject
	pass *reconcile.Pass
}

// Excess returns what a change does that is more than its rule may delete and replace, or why that is not known, or "".
// Nothing can be deleted of kinds that may not be listed; so only a change that was held waits for them. A change that
// rolls out was counted or approved before. last is the version of the rule that ran last, which may be nil.
func (a *Admission) Excess(was *inventory.Recorded, c *plan.Change, t *plan.DeletionCount, last *rules.Rule) string {
	what := "the new version of"
	if c.Now == nil {
		what = "the removal of"
	}
	switch {
	case was.RollsOut(c.Key.Kind, c.Hash()):
		return ""
	case t.Deleted+t.Replaced > a.Cluster.MostDeletions(c.Newest(last), t.Objects):
		return fmt.Sprintf("%s rule %q would %s of %d objects", what, c.Key.Rule, t.Doing(), t.Objects)
	case t.Unlisted != nil && (was.Holds(c.Hash()) || !apierrors.IsForbidden(t.Unlisted)):
		return fmt.Sprintf("%s rule %q waits until its objects can be listed (%v), to count what it would delete",
			what, c.Key.Rule, t.Unlisted)
	}
	return ""
}

// Approved reports whether a user has approved a change, with a command or in the Rules object of the rule.
func Approved(was *inventory.Recorded, loaded *rules.Program, c *plan.Change, last *rules.Rule) bool {
	if was.Approved(c.Hash()) {
		return true
	}
	of := c.Newest(last)
	return of != nil && loaded.Approves(of, c.Hash())
}

// Hold returns the hold of a change with an excess. The program has the change.
func (a *Admission) Hold(loaded *rules.Program, c *plan.Change, excess string, t *plan.DeletionCount,
	last *rules.Rule) plan.Hold {
	approval := "; to approve: " + a.approval(loaded, c, last)
	h := plan.Hold{Hash: c.Hash(), Since: c.Old.Digest, Brief: excess + approval, Suspends: last == nil}
	if names := t.Named(); names != "" {
		excess += ": " + names
	}
	h.Message = excess + approval
	return h
}

// approval says how to approve a change.
func (a *Admission) approval(loaded *rules.Program, c *plan.Change, last *rules.Rule) string {
	text := "reconcel approve " + c.Hash() + " " +
		inventory.Stored{Namespace: a.Options.Namespace, Installation: a.Options.Name}.Flags()
	if of := c.Newest(last); of != nil && loaded.ObjectOf(of) != "" {
		text += fmt.Sprintf(", or annotate Rules/%s with %s: %q", loaded.ObjectOf(of), rules.AnnotationApprove, c.Hash())
	}
	return text
}

// CountDeletions counts what changed rules would delete and replace, from the caches and without a
// request. Only the objects of removed rules are listed.
func (a *Admission) CountDeletions(ctx context.Context, pl *plan.Plan,
	changed []plan.Change) (map[plan.RuleOf]*plan.DeletionCount, error) {
	counts := map[plan.RuleOf]*plan.DeletionCount{}
	left := map[ident.Request][]write.LeftObject{}
	for i := range changed {
		c := &changed[i]
		counts[c.Of] = &plan.DeletionCount{}
		if c.Now != nil {
			continue
		}
		removed := inventory.RemovedRule{Name: c.Key.Rule, Entry: c.Old}
		s := cleanup.NewRemoval(ctx, a.Cluster, pl, removed)
		for _, gvk := range c.Old.Kinds() {
			err := s.EachChild(ctx, gvk, func(k ident.Kind, o *watch.Object, owner ident.Request) {
				id := o.Identity(k.GVK)
				counts[c.Of].Has(id, o)
				left[owner] = append(left[owner], write.LeftObject{Of: c.Of, ID: id})
			})
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err != nil {
				a.Log.Debug("objects of a removed rule not counted", "rule", c.Key.Rule, "kind", gvk.Kind, "error", err)
				counts[c.Of].Unlisted = fmt.Errorf("%s: %w", gvk.Kind, err)
			}
		}
	}
	for i := range changed {
		if c := &changed[i]; c.Now != nil {
			counts[c.Of].Unlisted = pl.Primaries[c.Of.Kind].Unlisted(c.Now, c.Old.Kinds())
		}
	}
	for _, pk := range pl.Primaries {
		cache, err := pk.Watch.Cache()
		if err != nil {
			continue
		}
		if pk.ForCluster() {
			a.countForBundles(pk, cache, counts, left)
			continue
		}
		for o := range cache.All() {
			a.countFor(pk, cache, o, counts, left)
		}
		for _, w := range pk.Children {
			pk.CountUnshown(w, cache, counts)
		}
	}
	for owner, objects := range left { // Of primaries that have no rules now.
		for _, o := range objects {
			counts[o.Of].Leaves(o.ID, owner.UID)
		}
	}
	return counts, nil
}

// countForBundles counts what changed rules for the cluster would delete and replace, whether
// the ConfigMaps of their bundles exist or not. A bundle may take over the objects of another
// one whose rule is removed.
func (a *Admission) countForBundles(pk *plan.PrimaryKind, cache *watch.Cache,
	counts map[plan.RuleOf]*plan.DeletionCount, left map[ident.Request][]write.LeftObject) {
	for _, r := range pk.Rules {
		req := a.Cluster.BundleOf(r.Name)
		self, _ := cache.Get(req.Namespace, req.Name)
		if self == nil {
			self = watch.NewObject(rules.NewBundle(req, r.Name), watch.Primary)
		}
		c := a.counter(pk, cache, self, req)
		c.countDeletions(counts, nil)
		for owner, objects := range left {
			if owner.Kind == req.Kind {
				left[owner] = slices.DeleteFunc(objects, func(o write.LeftObject) bool { return c.pass.View.Wants(o.ID) })
			}
		}
		c.pass.Discard()
	}
}

// countFor counts what changed rules would delete and replace of one primary.
func (a *Admission) countFor(pk *plan.PrimaryKind, cache *watch.Cache, self *watch.Object,
	counts map[plan.RuleOf]*plan.DeletionCount, left map[ident.Request][]write.LeftObject) {
	req := ident.RequestFor(pk.GVK.GroupKind(), self)
	objects := left[req]
	delete(left, req)
	if self.Terminating() || len(objects) == 0 && !pk.HasObjectOf(counts, req) {
		return
	}
	c := a.counter(pk, cache, self, req)
	defer c.pass.Discard()
	c.countDeletions(counts, objects)
}

// counter returns what counts for one primary. It only renders. The memory of the primary belongs to
// the worker that reconciles it, so this has one of its own, as after a restart.
func (a *Admission) counter(pk *plan.PrimaryKind, cache *watch.Cache, self *watch.Object,
	req ident.Request) *deletionCounter {
	p := reconcile.PassOf(access.Subject{
		Shared: a.Shared, Cluster: a.Cluster, Primary: pk, Cache: cache, Cached: true, Req: req, Self: self,
		Memory: &access.Memory{},
	})
	p.View.Render(a.Clock.Now())
	return &deletionCounter{&p.Subject, p}
}

// CountDeletions adds what changed rules would delete and replace of one primary. objects are those
// of removed rules.
func (c *deletionCounter) countDeletions(counts map[plan.RuleOf]*plan.DeletionCount, objects []write.LeftObject) {
	for i := range c.Rendering.Rules {
		r := &c.Rendering.Rules[i]
		if t := counts[plan.RuleOf{Name: r.Rule.Name, Kind: c.Req.Kind}]; t != nil && r.Err == nil {
			c.countOfRule(r, t)
		}
	}
	for _, o := range objects {
		if !c.pass.View.Wants(o.ID) {
			counts[o.Of].Leaves(o.ID, c.Req.UID)
		}
	}
}

// wants reports whether an object of a rule stays. A rule that no longer selects the primary, and has a finalizer,
// renders its objects once more to delete them.
func (c *deletionCounter) wants(r *rules.RuleResult, o *watch.Object, id rules.Identity) bool {
	if r.Teardown {
		return c.pass.Teardown.RenderedByAnother(r.Rule, id)
	}
	return c.pass.View.Wants(id) || c.Rendering.MayRender(r.Rule, o.Child(), id) != "" || c.pass.View.HeirOf(id) != ""
}

// countOfRule adds what a rule would delete and replace.
func (c *deletionCounter) countOfRule(r *rules.RuleResult, t *plan.DeletionCount) {
	for k, o := range c.pass.View.MadeBy(r.Rule) {
		id := o.Identity(k.GVK)
		t.Has(id, o)
		if !c.pass.View.Leaves(o) && !decide.OutlivesPrimary(r.Rule, o) && !c.wants(r, o, id) {
			t.Leaves(id, c.Req.UID)
		}
	}
	if r.Teardown {
		return
	}
	for i := range r.Children {
		for j := range r.Children[i].Objects {
			d := &r.Children[i].Objects[j]
			if d.State != rules.Rendered || d.Child.HasReplicas() {
				continue // Interchangeable objects are replaced a few at a time.
			}
			live := c.pass.View.Live(d.Identity)
			if live != nil && write.Decide(d, live,
				c.pass.ChildWriter.Known(d, &access.Written{Identity: d.Identity}, live)).Action == outcome.Replaced {
				t.Take(d.Identity, &t.Replaced)
			}
		}
	}
}
