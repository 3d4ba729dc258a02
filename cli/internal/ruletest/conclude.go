package ruletest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules"
	"reconcel/sim"
)

// conclude checks what must hold after every case.
func (p *player) conclude(ctx context.Context) ([]Failure, error) {
	m, inMemory := p.place.(Memory)
	if inMemory {
		if failures := p.again(ctx, m); len(failures) > 0 {
			return failures, nil
		}
	}
	if err := p.deletePrimaries(ctx); err != nil {
		return nil, err
	}
	if err := p.place.Settle(ctx); err != nil {
		return failureAt(p.c.Pos, "after the primaries were deleted: %v", err), nil
	}
	if inMemory {
		err := p.waitForEnd(ctx, m)
		if stuck, ok := errors.AsType[*uncollectedError](err); ok {
			return failureAt(p.c.Pos, "the primaries were deleted, and then %v", stuck), nil
		}
		if err != nil {
			return nil, err
		}
	}
	left, err := p.left(ctx)
	if err != nil || len(left) == 0 {
		return nil, err
	}
	return failureAt(p.c.Pos, "the primaries were deleted, but there is still %s", strings.Join(left, ", ")), nil
}

// calm is the simulated time between the last step and the restart. In that time
// the controller retries failed requests, which the restart would do at once.
const calm = time.Hour

// again checks that all requested failures happened, and that a restarted
// controller writes nothing. Rejected writes do not count, because they change
// nothing.
func (p *player) again(ctx context.Context, m Memory) []Failure {
	if left := m.Pending(); len(left) > 0 {
		missing := 0
		for _, f := range left {
			missing += max(f.Times, 1)
		}
		i := slices.IndexFunc(p.failures, func(f failure) bool { return errors.Is(f.Err, left[0].Err) })
		f := p.failures[i]
		return failureAt(f.pos, "an expected failure did not happen (%s): %d more such requests were expected", f.text,
			missing)
	}
	m.Recover()
	if err := m.Advance(ctx, calm); err != nil {
		return failureAt(p.c.Pos, "after the last step: %v", err)
	}
	before := len(m.Writes())
	if err := m.Restart(ctx); err != nil {
		return failureAt(p.c.Pos, "after a restart: %v", err)
	}
	done := slices.DeleteFunc(slices.Clone(m.Writes()[before:]), func(w sim.Write) bool { return w.Err != nil })
	if len(done) > 0 {
		return failureAt(p.c.Pos, "nothing has changed, but a restarted controller writes:%s", listWrites(done))
	}
	return nil
}

// deletePrimaries deletes all objects of the kinds that rules match.
func (p *player) deletePrimaries(ctx context.Context) error {
	all, err := p.place.Objects(ctx)
	if err != nil {
		return err
	}
	primaries := p.primaries()
	for _, u := range all {
		if !primaries[u.GroupVersionKind().GroupKind()] || u.GetDeletionTimestamp() != nil {
			continue
		}
		kind := p.suite.setting.Kinds.Kind(u.GroupVersionKind())
		if err := p.delete(ctx, kind, u); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete %s: %w", titleOf(u), err)
		}
	}
	return nil
}

// primaries returns the kinds that rules match.
func (p *player) primaries() map[runtimeschema.GroupKind]bool {
	kinds := map[runtimeschema.GroupKind]bool{}
	for _, primary := range primariesOf(p.programs) {
		kinds[primary.GVK.GroupKind()] = true
	}
	return kinds
}

// The first step and the limit of the simulated time for a teardown.
const (
	pause = time.Minute
	wait  = 48 * time.Hour
)

// An uncollectedError says that the garbage collector cannot go on. More time would not
// help.
type uncollectedError struct{ write *sim.Write }

// Error quotes the answer of the cluster.
func (e *uncollectedError) Error() string {
	w := e.write
	return fmt.Sprintf("the garbage collector's %s of %s is rejected: %v", w.Verb,
		path.Join(w.Kind.Kind, w.Namespace, w.Name), w.Err)
}

// waitForEnd completes the teardown of the primaries. It marks new children ready.
// When there are no new children, it advances the time in growing steps.
func (p *player) waitForEnd(ctx context.Context, m Memory) error {
	marked := map[string]bool{}
	for passed, step := time.Duration(0), pause; passed < wait; {
		left, err := p.left(ctx)
		if err != nil || len(left) == 0 {
			return err
		}
		progress, err := p.markReady(ctx, marked)
		if err != nil {
			return err
		}
		if !progress {
			if err := m.Advance(ctx, step); err != nil {
				return err
			}
			if stuck := m.Uncollected(); stuck != nil {
				return &uncollectedError{stuck}
			}
			passed += step
			step *= 2
			continue
		}
		if err := m.Settle(ctx); err != nil {
			return err
		}
	}
	return nil
}

// markReady marks each child that is not being deleted as ready, once. It reports
// whether there was any.
func (p *player) markReady(ctx context.Context, marked map[string]bool) (some bool, err error) {
	all, err := p.place.Objects(ctx)
	if err != nil {
		return false, err
	}
	for _, u := range all {
		kind := p.suite.setting.Kinds.Kind(u.GroupVersionKind())
		if u.GetLabels()[rules.LabelRule] == "" || u.GetDeletionTimestamp() != nil || !kind.Status ||
			marked[string(u.GetUID())] {
			continue
		}
		marked[string(u.GetUID())] = true
		if err := p.place.MarkReady(ctx, kind, u.GetNamespace(), u.GetName()); err != nil {
			return false, fmt.Errorf("mark %s ready: %w", titleOf(u), err)
		}
		some = true
	}
	return some, nil
}

// left returns the primaries that still exist, and the children that rules should
// have deleted.
func (p *player) left(ctx context.Context) ([]string, error) {
	all, err := p.place.Objects(ctx)
	if err != nil {
		return nil, err
	}
	primaries, makers := p.primaries(), p.makers()
	var left []string
	for _, u := range all {
		_, made := makers[u.GetLabels()[rules.LabelRule]]
		if made && !ofInitialNamespace(u) && !isOrphan(u) || primaries[u.GroupVersionKind().GroupKind()] {
			left = append(left, titleOf(u)+beingDeleted(u))
		}
	}
	return left, nil
}

// isOrphan reports whether a child stays when its primary is deleted: its rule says so, or a deletion
// with --cascade=orphan has removed its owner.
func isOrphan(u *unstructured.Unstructured) bool {
	annotations := u.GetAnnotations()
	owned := len(u.GetOwnerReferences()) > 0 || annotations[rules.AnnotationOwner] != "" ||
		len(rules.SharesOf(u.Object)) > 0
	return annotations[rules.AnnotationOrphan] == "true" || !owned
}

// ofInitialNamespace reports whether the primary of a child is a namespace that every
// cluster has, and that cannot be deleted.
func ofInitialNamespace(u *unstructured.Unstructured) bool {
	return slices.ContainsFunc(u.GetOwnerReferences(), func(o metav1.OwnerReference) bool {
		return o.APIVersion == "v1" && o.Kind == "Namespace" && sim.IsInitial(o.Name)
	})
}

// makers returns the rules whose children must be deleted with their primaries.
// The value is whether the children are also deleted when the rule is removed. A
// removed rule whose children stay is not included.
func (p *player) makers() map[string]bool {
	makers := map[string]bool{}
	for _, program := range p.programs {
		maps.DeleteFunc(makers, func(_ string, deletes bool) bool { return !deletes })
		for _, primary := range program.Primaries() {
			if primary.ForCluster() {
				continue // A bundle ends with its rule, and not with an object of the case.
			}
			for _, r := range primary.Rules {
				makers[r.Name] = r.DeleteOnRemoval
			}
		}
	}
	return makers
}
