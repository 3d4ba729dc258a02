package cleanup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"reconcel/engine/access"
	"reconcel/engine/answer"
	"reconcel/engine/decide"
	"reconcel/engine/discover"
	"reconcel/engine/ident"
	"reconcel/engine/inventory"
	"reconcel/engine/outcome"
	"reconcel/engine/plan"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// This file deletes the objects of a removed rule with onRuleRemoval: delete. It
// lists them by the label that all of them have. It does not watch them, because
// the removed rule may have been the only one for its kinds. Another rule may own
// an object by now and keeps it. If the primary still has rules, its
// reconciliation decides (see OrphanedObject). Otherwise no rule can need it.

func removalBackoff() wait.Backoff {
	return wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.1, Steps: 100, Cap: time.Minute}
}

// DeleteRemovedRule deletes the objects of a removed rule and retries until all
// are gone. It logs each new problem once.
func (c *Cleanup) DeleteRemovedRule(ctx context.Context, pl *plan.Plan, r inventory.RemovedRule) {
	outcome.Sleep(ctx, c.announce(ctx, r))
	if ctx.Err() != nil {
		return
	}
	logged := ""
	_ = removalBackoff().DelayFunc().Until(ctx, true, false, func(ctx context.Context) (bool, error) {
		done, problems := c.TryDeleteRemovedRule(ctx, pl, r)
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		now := outcome.JoinFirst(problems)
		if shape := answer.Shape(now); shape != logged && now != "" {
			c.Log.Warn("removal of rule incomplete, will retry", "rule", r.Name, "kind", r.For, "error", now)
			logged = shape
		}
		return done, nil
	})
	if ctx.Err() == nil {
		c.Metrics.Removing.Dec()
		c.Log.Info("removal of rule complete", "rule", r.Name, "kind", r.For)
	}
}

// TryDeleteRemovedRule makes one attempt to delete the objects of a removed rule.
// It reports whether nothing was left to delete, and otherwise the problems.
func (c *Cleanup) TryDeleteRemovedRule(ctx context.Context, pl *plan.Plan,
	r inventory.RemovedRule) (done bool, problems []error) {
	gk := r.Primary()
	s := NewRemoval(ctx, c.Cluster, pl, r)
	// Without the list of primaries nothing is deleted, because the children of
	// paused primaries must stay.
	if err := s.prunePatches(ctx, gk); err != nil {
		return false, []error{err}
	}
	for _, gvk := range r.Kinds() {
		if err := s.pruneKind(ctx, gvk); err != nil {
			s.problem(err)
		}
	}
	switch {
	case s.left > 0 || len(s.problems) > 0:
		return false, s.problems
	case s.kept > 0:
		// When that rule stops keeping the object, the next reconciliation of its
		// primary or the next process deletes it. So the inventory keeps the
		// removed rule.
		return true, nil
	}
	if err := c.Cluster.DeleteBundle(ctx, gk, r.Name); err != nil {
		return false, []error{err}
	}
	if err := c.Inventory.RemoveRule(ctx, r); err != nil {
		return false, []error{err}
	}
	return true, nil
}

// A Removal is one attempt to delete the objects of a removed rule.
type Removal struct {
	Cluster *access.Cluster
	Rule    inventory.RemovedRule
	primary *plan.PrimaryKind // nil: no rule has the kind
	global  bool              // the primaries are cluster-scoped
	paused  map[types.UID]bool

	left     int // objects still to delete
	kept     int // objects that another rule keeps unchanged
	problems []error
}

// NewRemoval returns an attempt that has not begun.
func NewRemoval(ctx context.Context, c *access.Cluster, pl *plan.Plan, r inventory.RemovedRule) *Removal {
	gk := r.Primary()
	s := &Removal{Cluster: c, Rule: r, primary: pl.Primaries[gk], paused: map[types.UID]bool{}}
	if k, err := discover.AnyVersion(ctx, c.Kinds, gk); err == nil {
		s.global = !k.Namespaced
	}
	return s
}

// writes returns a rule with the settings for writes of the removed rule.
func (s *Removal) writes() *rules.Rule { return s.Rule.Rule(s.Rule.Name) }

// problem records a problem. Problems of the same text count once.
func (s *Removal) problem(err error) {
	if !slices.ContainsFunc(s.problems, func(other error) bool { return other.Error() == err.Error() }) {
		s.problems = append(s.problems, err)
	}
}

// prunePatches reverts the rule's patches and records which primaries are
// paused.
func (s *Removal) prunePatches(ctx context.Context, gk schema.GroupKind) error {
	return s.Cluster.EachPrimary(ctx, gk, func(k ident.Kind, o *watch.Object) {
		req := ident.RequestFor(gk, o)
		if o.Paused() {
			s.paused[req.UID] = true
		}
		if !plan.PatcherOf(s.writes()).HasPatched(o) {
			return
		}
		s.clear(req, plan.OrphanedObject{Rule: s.writes(), Kind: k}, func() error {
			return s.Cluster.RevertPatch(ctx, k, o, s.writes())
		})
	})
}

func (s *Removal) pruneKind(ctx context.Context, gvk schema.GroupVersionKind) error {
	return s.EachChild(ctx, gvk, func(k ident.Kind, o *watch.Object, owner ident.Request) {
		if o.Terminating() {
			s.left++
			return
		}
		s.clear(owner, s.orphaned(k, o), func() error {
			return s.delete(ctx, k, o, owner)
		})
	})
}

// EachChild calls visit for each object of one kind that the rule has created and does
// not orphan.
func (s *Removal) EachChild(ctx context.Context, gvk schema.GroupVersionKind,
	visit func(ident.Kind, *watch.Object, ident.Request)) error {
	return s.EachMade(ctx, gvk, func(k ident.Kind, o *watch.Object, owner ident.Request) {
		if s.Deletes(o) {
			visit(k, o, owner)
		}
	})
}

// Deletes reports whether an object of the rule does not stay.
func (s *Removal) Deletes(o *watch.Object) bool {
	return !o.Orphan() && !o.LostReference() && !slices.Contains(s.Rule.Orphans, o.Child())
}

// Keeps reports whether a rule of its primary kept an object in the last reconciliation.
func (s *Removal) Keeps(k ident.Kind, o *watch.Object, owner ident.Request) bool {
	return s.primary != nil && s.primary.OrphanedObjects.Why(owner, s.orphaned(k, o)) != ""
}

func (s *Removal) orphaned(k ident.Kind, o *watch.Object) plan.OrphanedObject {
	return plan.OrphanedObject{Rule: s.writes(), Kind: k, Object: o.WithoutBody()}
}

// EachMade calls visit for each object of one kind that the rule has created.
func (s *Removal) EachMade(ctx context.Context, gvk schema.GroupVersionKind,
	visit func(ident.Kind, *watch.Object, ident.Request)) error {
	k, err := s.Cluster.Kinds.Find(ctx, gvk)
	if discover.IsNoKind(err) {
		k, err = discover.AnyVersion(ctx, s.Cluster.Kinds, gvk.GroupKind())
	}
	if gone, err := s.Cluster.JudgeMissing(ctx, gvk.GroupKind(), err); gone || err != nil {
		return err
	}
	selector := labels.SelectorFromValidatedSet(labels.Set{rules.LabelRule: s.Rule.Name})
	return s.Cluster.EachListed(ctx, k, metav1.ListOptions{LabelSelector: selector.String()}, watch.Child,
		func(o *watch.Object) {
			for _, owner := range s.owners(o) {
				visit(k, o, owner)
			}
		})
}

// owners returns the primaries of an object if the rule created the object. The label
// alone is no proof, because any user can set it.
func (s *Removal) owners(o *watch.Object) (all []ident.Request) {
	if o.Rule() != s.Rule.Name || !o.HasOwnLabel() || s.Cluster.OfOtherInstallation(o, s.Rule.TakenOver) {
		return nil
	}
	for _, owner := range o.Owners() {
		if owner.Kind.String() != s.Rule.For || !o.BelongsTo(owner) {
			continue
		}
		if s.global {
			owner.Namespace = ""
		}
		all = append(all, owner)
	}
	return all
}

// clear deletes one orphaned object at once if its primary has no rules.
// Otherwise it enqueues the primary. It skips objects of a paused primary. A
// problem with one object does not stop the others.
func (s *Removal) clear(req ident.Request, l plan.OrphanedObject, atOnce func() error) {
	s.left++
	what := "the patch of " + req.String()
	if l.Object != nil {
		what = ident.SubjectOf(l.Kind, l.Object)
	}
	switch {
	case s.paused[req.UID]:
		s.problem(fmt.Errorf("%s: %s %w", what, req, ErrPaused))
	case s.primary == nil:
		if err := atOnce(); err != nil && !errors.Is(err, decide.ErrStale) {
			s.problem(fmt.Errorf("%s: %w", what, err))
		}
	default:
		switch why := s.primary.OrphanedObjects.Add(req, l); why {
		case "":
		case plan.KeptByAnother:
			s.left--
			s.kept++
		default:
			s.problem(errors.New(what + ": " + why))
		}
		s.Cluster.Queue.Add(req)
	}
}

func (s *Removal) delete(ctx context.Context, k ident.Kind, o *watch.Object, owner ident.Request) error {
	was, err := s.Cluster.DeleteOwned(ctx, s.writes(), k, o, owner, metav1.DeletePropagationBackground, s.leaves)
	if was.Deleted != nil {
		s.Cluster.LogAction(outcome.Deleted, owner, o.Identity(k.GVK), s.Rule.Name, decide.WhyRuleGone)
	}
	return err
}

// leaves reports whether an owner of a shared object leaves it with the rule: no rule has its kind.
func (s *Removal) leaves(_ *watch.Object, share rules.Share) bool {
	return s.primary == nil && share.Owner.Kind.String() == s.Rule.For && !s.paused[share.Owner.UID]
}

// removalSettle is how long a rule must be gone before the deletion of its
// objects is announced. A rule is not removed if it was renamed, or if it is only
// missing while its file is being written.
const removalSettle = 5 * time.Second

// A removalKey identifies the removal of a rule.
type removalKey struct{ rule, kind string }

func removalKeyOf(r inventory.RemovedRule) removalKey { return removalKey{r.Name, r.For} }

// RetainAnnounced forgets announced removals that are no longer pending. A rule that was
// restored and removed again is announced again.
func (c *Cleanup) RetainAnnounced(removed []inventory.RemovedRule) {
	c.announced.Range(func(key, _ any) bool {
		if !slices.ContainsFunc(removed, func(r inventory.RemovedRule) bool { return removalKeyOf(r) == key }) {
			c.announced.Delete(key)
		}
		return true
	})
}

// announce reports the objects that the removal of a rule will delete, and
// returns how long to wait before the deletion.
func (c *Cleanup) announce(ctx context.Context, r inventory.RemovedRule) time.Duration {
	grace := c.Options.RemovalGrace
	if at, known := c.announced.Load(removalKeyOf(r)); known {
		return max(0, grace-c.Clock.Since(at.(time.Time)))
	}
	c.Log.Info("rule removed", "rule", r.Name, "kind", r.For)
	outcome.Sleep(ctx, min(removalSettle, grace))
	objects := c.countRemoved(ctx, r)
	if ctx.Err() != nil || objects == "" {
		return 0
	}
	c.Log.Warn("rule removed, deleting its objects", "rule", r.Name, "kind", r.For, "objects", objects, "delay", grace)
	c.Cluster.ReportRules(outcome.ReasonRuleRemoved, "Reload", fmt.Sprintf(
		"rule %q for %s was removed; its objects are deleted in %s (%s). Put the rule back to keep them", r.Name, r.For,
		grace, objects))
	c.announced.Store(removalKeyOf(r), c.Clock.Now())
	return grace
}

// countRemoved counts the objects of a removed rule by kind, such as
// "2 ConfigMap, 1 Secret"; "" if there are none. It names kinds that cannot be
// listed.
func (c *Cleanup) countRemoved(ctx context.Context, r inventory.RemovedRule) string {
	s := &Removal{Cluster: c.Cluster, Rule: r}
	var counts []string
	for _, gvk := range r.Kinds() {
		n := 0
		err := s.EachChild(ctx, gvk, func(ident.Kind, *watch.Object, ident.Request) { n++ })
		switch {
		case err != nil:
			counts = append(counts, "an unknown number of "+gvk.Kind)
		case n > 0:
			counts = append(counts, fmt.Sprintf("%d %s", n, gvk.Kind))
		}
	}
	return strings.Join(counts, ", ")
}
