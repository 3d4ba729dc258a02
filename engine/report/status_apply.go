package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"reconcel/engine/answer"
	"reconcel/engine/decide"
	"reconcel/engine/discover"
	"reconcel/engine/managedfields"
	"reconcel/engine/outcome"
	"reconcel/engine/plan"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// longestConflict is for how long other writers may keep a status from being written.
const longestConflict = 2 * time.Second

// applyBound applies the status to the state of the primary that it was computed
// from. So a late write, for example of a process that has ended, cannot undo a newer
// status. After a conflict it reads the primary and retries once, because other
// writers may often change fields that the rules do not write. If they change the
// primary faster than it can be read and written, for longer than longestConflict, the status
// is then applied to any state: observedGeneration says which one it is about. Nothing but
// the read tells the primary from a new one with its name: the API server ignores the UID in a
// status.
func (s *StatusDraft) applyBound(ctx context.Context, conditions []rules.Condition, desired map[string]any,
	digest [16]byte, now time.Time) error {
	again := func() error {
		err, overtaken := s.renew(ctx), s.isOvertaken(now)
		if s.Gone || err != nil && !(overtaken && errors.Is(err, decide.ErrStale)) {
			return err
		}
		if err == nil {
			if desired, err = s.desired(conditions, s.Self.Fields().Set(), now); err != nil {
				return err
			}
		}
		version := s.Self.GetResourceVersion()
		if overtaken {
			version = ""
		}
		return s.apply(ctx, desired, digest, version)
	}
	last := &s.Memory.Status
	before := cmp.Or(last.Fields, s.Self.Fields())
	err := s.apply(ctx, desired, digest, s.Self.GetResourceVersion())
	if apierrors.IsConflict(err) {
		err = again()
	}
	var divided []fieldpath.Path
	if err == nil {
		divided = last.Schema.Divided(s.Cache.Granular(), before, last.Fields)
	}
	if len(divided) > 0 || apierrors.IsInvalid(err) {
		var removed bool // As reconcel itself, like the status.
		removed, err = s.patches.RemoveLeft(ctx, &rules.Rule{}, s.applier(), map[string]any{"status": desired}, divided, err)
		if removed {
			err = again()
		}
	}
	if apierrors.IsConflict(err) {
		return decide.ErrStale
	}
	return err
}

// isOvertaken reports whether other writers were faster in all reconciliations for too long. A list of conditions that
// has one owner has those of others, which a write may only copy from the state that it replaces.
func (s *StatusDraft) isOvertaken(now time.Time) bool {
	since := s.Memory.StaleSince
	return !since.IsZero() && now.Sub(since) >= longestConflict && s.list != discover.AtomicConditions && !s.unappliable()
}

// applier returns the manager of the status.
func (s *StatusDraft) applier() managedfields.Applier {
	if !s.Cache.Kind().Status {
		return managedfields.Applier{Name: managedfields.StatusManager}
	}
	return managedfields.Applier{Name: managedfields.Manager, Subresource: "status"}
}

// renew reads the primary live. It returns ErrStale if the rules may render another
// status from that state. The status itself does not count: its other writers trigger
// another reconciliation.
func (s *StatusDraft) renew(ctx context.Context) error {
	live, err := s.reader.ReadPrimary(ctx)
	switch {
	case err != nil:
		return err
	case live == nil:
		s.Gone = true
		return nil
	case (live.GetDeletionTimestamp() != nil) != s.Self.Terminating():
		return decide.ErrStale
	}
	withoutStatus := func(object map[string]any) map[string]any {
		rest := maps.Clone(object)
		delete(rest, "status")
		return rest
	}
	if !s.reader.SameIntent(withoutStatus(live.Object), withoutStatus(s.Self.Content())) {
		return decide.ErrStale
	}
	s.Self = watch.NewObject(live, watch.Primary)
	return nil
}

// apply sends the status once, for the state with a resourceVersion or, with "", for any, and records the response.
func (s *StatusDraft) apply(ctx context.Context, desired map[string]any, digest [16]byte, version string) error {
	ctx, cancel := context.WithTimeout(ctx, plan.WriteTimeout)
	defer cancel()
	k := s.Cache.Kind()
	how, content := types.ApplyPatchType, map[string]any{}
	if s.unappliable() {
		how, desired = types.MergePatchType, withOtherConditions(desired, s.Self.Content())
	}
	if len(desired) > 0 { // An empty status in the body would leave a managedFields entry.
		content["status"] = desired
	}
	u := decide.ApplicationTo(k, s.Self, content)
	as := s.applier()
	if as.Subresource == "" {
		u.SetUID(s.Req.UID) // Prevents the apply from creating a deleted object again.
	}
	u.SetResourceVersion(version)
	body, err := u.MarshalJSON()
	if err != nil {
		return fmt.Errorf("write status: %w", err)
	}
	o, err := s.Sender.Send(ctx, s.Primary.Watch, watch.Patch{
		Kind: k, Namespace: s.Req.Namespace, Name: s.Req.Name, Subresource: as.Subresource, Type: how, Body: body,
		Manager: as.Name, Force: how == types.ApplyPatchType,
	})
	if answer.IsAbsent(err) {
		return nil // The primary is gone.
	}
	if err != nil {
		return outcome.ClassifyAnswer(fmt.Errorf("write status: %w", outcome.SortCauses(err)))
	}
	s.Metrics.Wrote("status", k)
	s.Memory.Status.Is(digest, o)
	s.Memory.Self = o // The next status must not copy values from before this write.
	return nil
}

// unappliable reports whether the API server rejects every apply to the primary because of another
// manager, see LostVersionError. The report of that is written by a merge patch, which it accepts.
func (s *StatusDraft) unappliable() bool {
	last := s.Memory.Status.Rejected
	if s.silenced == nil || last == nil {
		return false
	}
	_, lost := errors.AsType[*outcome.LostVersionError](last.Err)
	return lost
}

// withOtherConditions returns a status with the conditions of other writers: a merge patch replaces the
// whole list.
func withOtherConditions(desired, live map[string]any) map[string]any {
	own, _ := desired["conditions"].([]any)
	all := slices.Clone(own)
	theirs, _, err := unstructured.NestedSlice(live, "status", "conditions")
	if err != nil || len(own) == 0 {
		return desired
	}
	for _, c := range theirs {
		if !slices.ContainsFunc(own, func(o any) bool { return typeOf(o) == typeOf(c) }) {
			all = append(all, c)
		}
	}
	desired = maps.Clone(desired)
	desired["conditions"] = all
	return desired
}

// typeOf returns the type of a condition.
func typeOf(condition any) any {
	c, _ := condition.(map[string]any)
	return c["type"]
}
