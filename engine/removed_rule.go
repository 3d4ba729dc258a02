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
	"reconcel/engine/managedfields"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// What goes with a rule that said onRuleRemoval: delete. It is looked for by
// the label that all of it carries, and not watched: the rule may have been the
// only one for its kinds. An object may have another rule by now, under whose
// name it goes on to live; where there are rules for the primary, a look at the
// primary decides (see orphaned object), and else nobody can want it.

// removalBackoff is how long until what is left is looked for again.
func removalBackoff() wait.Backoff {
	return wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.1, Steps: 100, Cap: time.Minute}
}

// deleteRemovedRule takes away what a removed rule has made, for as long as it
// takes. What is in the way is logged when it is news.
func (e *Engine) deleteRemovedRule(ctx context.Context, pl *plan, r inventory.RemovedRule) {
	sleep(ctx, e.announce(ctx, r))
	if ctx.Err() != nil {
		return
	}
	said := ""
	_ = removalBackoff().DelayFunc().Until(ctx, true, false, func(ctx context.Context) (bool, error) {
		done, problems := e.tryDeleteRemovedRule(ctx, pl, r)
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		if now := joinFirst(problems); now != said && now != "" {
			e.log.Warn("removal of rule incomplete, will retry", "rule", r.Name, "kind", r.For, "error", now)
			said = now
		}
		return done, nil
	})
	if ctx.Err() == nil {
		e.metrics.removing.Dec()
		e.log.Info("removal of rule complete", "rule", r.Name, "kind", r.For)
	}
}

// tryDeleteRemovedRule takes away what a removed rule has left now. It reports whether
// there was nothing, and else what is in the way of it.
func (e *Engine) tryDeleteRemovedRule(ctx context.Context, pl *plan, r inventory.RemovedRule) (done bool, problems []string) {
	gk := r.Primary()
	s := &removal{engine: e, rule: r, primary: pl.primaries[gk], paused: map[types.UID]bool{}}
	// Without the primaries nothing goes: who is paused is to be left alone.
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
		// Should that rule let go of it, the next look at its primary takes it away,
		// or the next process: the inventory goes on to know the removed rule.
		return true, nil
	}
	if err := e.inventory.RemoveRule(ctx, r); err != nil {
		return false, []string{err.Error()}
	}
	return true, nil
}

// A removal is one look at what a removed rule has left.
type removal struct {
	engine  *Engine
	rule    inventory.RemovedRule
	primary *primaryKind // nil: no rule is for the kind
	global  bool         // the primaries have no namespace
	paused  map[types.UID]bool

	left     int // is still to go
	kept     int // by another rule, as it is
	problems []string
}

// writes returns what stands for the rule where something is written for it.
func (s *removal) writes() *rules.Rule { return s.rule.Rule(s.rule.Name) }

func (s *removal) problem(text string) {
	if !slices.Contains(s.problems, text) {
		s.problems = append(s.problems, text)
	}
}

// prunePatches takes back what the rule has patched, and sees which primaries
// are paused.
func (s *removal) prunePatches(ctx context.Context, gk schema.GroupKind) error {
	k, err := discover.AnyVersion(ctx, s.engine.kinds, gk)
	if discover.IsNoKind(err) {
		return nil // Its objects have gone with it.
	}
	if err != nil {
		return err
	}
	s.global = !k.Namespaced
	return s.engine.eachOf(ctx, k, func(o *watch.Object) error {
		if o.Paused() {
			s.paused[o.GetUID()] = true
		}
		if o.PatchFields(s.rule.Name) == (managedfields.Entry{}) {
			return nil
		}
		req := Request{Kind: gk, Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID()}
		s.clear(req, orphanedObject{rule: s.writes(), kind: k}, func() error {
			return s.engine.revertPatch(ctx, k, o, s.writes())
		})
		return nil
	})
}

// pruneKind deletes the rule's children of one kind.
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

// eachChild visits the objects of one kind that the rule has made.
func (s *removal) eachChild(ctx context.Context, gvk schema.GroupVersionKind, visit func(Kind, *watch.Object, Request)) error {
	k, err := s.engine.kinds.Find(ctx, gvk)
	if discover.IsNoKind(err) {
		k, err = discover.AnyVersion(ctx, s.engine.kinds, gvk.GroupKind())
	}
	if discover.IsNoKind(err) {
		return nil
	}
	if err != nil {
		return err
	}
	selector := labels.SelectorFromValidatedSet(labels.Set{rules.LabelRule: s.rule.Name})
	return s.engine.eachListed(ctx, k, metav1.ListOptions{LabelSelector: selector.String()}, watch.Child, func(o *watch.Object) error {
		if owner, ok := s.owner(o); ok {
			visit(k, o, owner)
		}
		return nil
	})
}

// owner returns the primary of an object, if the rule has made it and it is not
// to stay. A label is not enough: anybody can write one.
func (s *removal) owner(o *watch.Object) (Request, bool) {
	owner, ok := o.Owner()
	if !ok || o.Rule() != s.rule.Name || owner.Kind.String() != s.rule.For || !o.BelongsTo(owner) || !o.HasOwnLabel() {
		return Request{}, false
	}
	if s.engine.elsewhere(o, s.rule.TakenOver) {
		return Request{}, false
	}
	if o.Orphan() || slices.Contains(s.rule.Orphans, o.Child()) {
		return Request{}, false
	}
	if s.global {
		owner.Namespace = ""
	}
	return owner, true
}

// clear takes one orphaned object away at once if no rule is for its primary, and else
// has the primary looked at. What is in the way does not hold up the rest.
func (s *removal) clear(req Request, l orphanedObject, atOnce func() error) {
	s.left++
	what := "the patch of " + req.String()
	if l.object != nil {
		what = formatName(l.kind.GVK.Kind, l.object.GetNamespace(), l.object.GetName())
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
	by := s.engine.writer(s.writes(), owner, k, o.GetNamespace())
	deleted, err := s.engine.deleteConfirmed(ctx, by, k, o, owner, metav1.DeletePropagationBackground)
	if deleted != nil {
		s.engine.log.Info("deleted the child of a removed rule", "object", owner.String(), "child", formatName(k.GVK.Kind, o.GetNamespace(), o.GetName()), "rule", s.rule.Name)
	}
	return err
}
