package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"reconcel/engine/discover"
	"reconcel/engine/inventory"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// This file deletes the objects of a removed rule with onRuleRemoval: delete. It
// lists them by the label that all of them have. It does not watch them, because
// the removed rule may have been the only one for its kinds. Another rule may own
// an object by now and keeps it. If the primary still has rules, its
// reconciliation decides (see orphanedObject). Otherwise no rule can need it.

func removalBackoff() wait.Backoff {
	return wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.1, Steps: 100, Cap: time.Minute}
}

// deleteRemovedRule deletes the objects of a removed rule and retries until all
// are gone. It logs each new problem once.
func (e *Engine) deleteRemovedRule(ctx context.Context, pl *plan, r inventory.RemovedRule) {
	sleep(ctx, e.announce(ctx, r))
	if ctx.Err() != nil {
		return
	}
	logged := ""
	_ = removalBackoff().DelayFunc().Until(ctx, true, false, func(ctx context.Context) (bool, error) {
		done, problems := e.tryDeleteRemovedRule(ctx, pl, r)
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		if now := joinFirst(problems); now != logged && now != "" {
			e.log.Warn("removal of rule incomplete, will retry", "rule", r.Name, "kind", r.For, "error", now)
			logged = now
		}
		return done, nil
	})
	if ctx.Err() == nil {
		e.metrics.removing.Dec()
		e.log.Info("removal of rule complete", "rule", r.Name, "kind", r.For)
	}
}

// tryDeleteRemovedRule makes one attempt to delete the objects of a removed rule.
// It reports whether nothing was left to delete, and otherwise the problems.
func (e *Engine) tryDeleteRemovedRule(ctx context.Context, pl *plan, r inventory.RemovedRule) (done bool, problems []string) {
	gk := r.Primary()
	s := &removal{engine: e, rule: r, primary: pl.primaries[gk], paused: map[types.UID]bool{}}
	// Without the list of primaries nothing is deleted, because the children of
	// paused primaries must stay.
	if err := s.prunePatches(ctx, gk); err != nil {
		return false, []string{err.Error()}
	}
	for _, gvk := range r.Kinds() {
		if err := s.pruneKind(ctx, gvk); err != nil {
			s.problem(err.Error())
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
	if err := e.deleteBundle(ctx, gk, r.Name); err != nil {
		return false, []string{err.Error()}
	}
	if err := e.inventory.RemoveRule(ctx, r); err != nil {
		return false, []string{err.Error()}
	}
	return true, nil
}

// A removal is one attempt to delete the objects of a removed rule.
type removal struct {
	engine  *Engine
	rule    inventory.RemovedRule
	primary *primaryKind // nil: no rule has the kind
	global  bool         // the primaries are cluster-scoped
	paused  map[types.UID]bool

	left     int // objects still to delete
	kept     int // objects that another rule keeps unchanged
	problems []string
}

// writes returns a rule with the settings for writes of the removed rule.
func (s *removal) writes() *rules.Rule { return s.rule.Rule(s.rule.Name) }

func (s *removal) problem(text string) {
	if !slices.Contains(s.problems, text) {
		s.problems = append(s.problems, text)
	}
}

// prunePatches reverts the rule's patches and records which primaries are
// paused.
func (s *removal) prunePatches(ctx context.Context, gk schema.GroupKind) error {
	return s.engine.eachPrimary(ctx, gk, func(k Kind, o *watch.Object) error {
		s.global = !k.Namespaced
		req := requestFor(gk, o)
		if o.Paused() {
			s.paused[req.UID] = true
		}
		if !patcherOf(s.writes()).hasPatched(o) {
			return nil
		}
		s.clear(req, orphanedObject{rule: s.writes(), kind: k}, func() error {
			return s.engine.revertPatch(ctx, k, o, s.writes())
		})
		return nil
	})
}

func (s *removal) pruneKind(ctx context.Context, gvk schema.GroupVersionKind) error {
	return s.eachChild(ctx, gvk, func(k Kind, o *watch.Object, owner Request) {
		if o.Terminating() {
			s.left++
			return
		}
		s.clear(owner, orphanedObject{rule: s.writes(), kind: k, object: o.WithoutBody()}, func() error {
			return s.delete(ctx, k, o, owner)
		})
	})
}

// eachChild calls visit for each object of one kind that the rule has created and does
// not orphan.
func (s *removal) eachChild(ctx context.Context, gvk schema.GroupVersionKind, visit func(Kind, *watch.Object, Request)) error {
	return s.eachMade(ctx, gvk, func(k Kind, o *watch.Object, owner Request) {
		if !o.Orphan() && !o.LostReference() && !slices.Contains(s.rule.Orphans, o.Child()) {
			visit(k, o, owner)
		}
	})
}

// eachMade calls visit for each object of one kind that the rule has created.
func (s *removal) eachMade(ctx context.Context, gvk schema.GroupVersionKind, visit func(Kind, *watch.Object, Request)) error {
	k, err := s.engine.kinds.Find(ctx, gvk)
	if discover.IsNoKind(err) {
		k, err = discover.AnyVersion(ctx, s.engine.kinds, gvk.GroupKind())
	}
	if gone, err := s.engine.judgeMissing(ctx, gvk.GroupKind(), err); gone || err != nil {
		return err
	}
	selector := labels.SelectorFromValidatedSet(labels.Set{rules.LabelRule: s.rule.Name})
	return s.engine.eachListed(ctx, k, metav1.ListOptions{LabelSelector: selector.String()}, watch.Child, func(o *watch.Object) error {
		for _, owner := range s.owners(o) {
			visit(k, o, owner)
		}
		return nil
	})
}

// owners returns the primaries of an object if the rule created the object. The label
// alone is no proof, because any user can set it.
func (s *removal) owners(o *watch.Object) (all []Request) {
	if o.Rule() != s.rule.Name || !o.HasOwnLabel() || s.engine.ofOtherInstallation(o, s.rule.TakenOver) {
		return nil
	}
	for _, owner := range o.Owners() {
		if owner.Kind.String() != s.rule.For || !o.BelongsTo(owner) {
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
func (s *removal) clear(req Request, l orphanedObject, atOnce func() error) {
	s.left++
	what := "the patch of " + req.String()
	if l.object != nil {
		what = subjectOf(l.kind, l.object)
	}
	switch {
	case s.paused[req.UID]:
		s.problem(what + ": " + req.String() + " is paused")
	case s.primary == nil:
		if err := atOnce(); err != nil && !errors.Is(err, errStale) {
			s.problem(what + ": " + err.Error())
		}
	default:
		switch why := s.primary.orphanedObjects.add(req, l); why {
		case "":
		case keptByAnother:
			s.left--
			s.kept++
		default:
			s.problem(what + ": " + why)
		}
		s.engine.queue.Add(req)
	}
}

func (s *removal) delete(ctx context.Context, k Kind, o *watch.Object, owner Request) error {
	was, err := s.engine.deleteOwned(ctx, s.writes(), k, o, owner, metav1.DeletePropagationBackground)
	if was.deleted != nil {
		s.engine.log.Info("deleted the child of a removed rule", "object", owner.String(), "child", subjectOf(k, o), "rule", s.rule.Name)
	}
	return err
}
