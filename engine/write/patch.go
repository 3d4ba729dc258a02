package write

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"reconcel/engine/access"
	"reconcel/engine/decide"
	"reconcel/engine/managedfields"
	"reconcel/engine/outcome"
	"reconcel/engine/plan"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// Patches are the fields that rules, and reconcel itself, apply to a primary.
type Patches struct {
	*access.Subject
	View    *access.View
	Reader  *access.Reader
	Answers *access.Answers
}

// Patch applies a rule's patch to the primary with the rule's own field manager.
// It does not set rules.AnnotationApplied, because controllers copy annotations of
// their objects to other objects. So EnsurePatch compares values.
func (p *Patches) Patch(ctx context.Context, r *rules.RuleResult) outcome.Outcome {
	switch {
	case r.PatchErr != nil:
		return outcome.Position{Rule: r.Rule.Name, Subject: "patch"}.Failed(r.PatchErr)
	case len(r.PatchWaits) > 0:
		return decide.WaitingOutcome(outcome.Position{Rule: r.Rule.Name, Subject: "patch"}, r.PatchWaits)
	case len(r.Patch) == 0:
		return p.Answers.OutcomeOf(p.revert(ctx, r.Rule)) // An earlier version of the rule may have had a patch.
	}
	applied, own, err := r.Split()
	did := outcome.Unchanged
	if err == nil && len(r.OwnFields) > 0 {
		did, err = p.ensureOwn(ctx, plan.PatcherOf(r.Rule), r, own)
	}
	switch {
	case err != nil:
	case len(applied) == 0:
		err = p.revert(ctx, r.Rule)
	default:
		var also outcome.Action
		if also, err = p.EnsurePatch(ctx, plan.PatcherOf(r.Rule), applied); also == outcome.Configured {
			did = also
		}
	}
	switch {
	case err != nil:
		return p.Answers.OutcomeOf(outcome.Position{Rule: r.Rule.Name, Subject: "patch",
			Body: decide.PatchHash(r.Patch)}.Wrap(err))
	case did == outcome.Configured:
		return outcome.Position{Rule: r.Rule.Name, Subject: "patch"}.Says(outcome.Progressing, outcome.ReasonProgressing,
			"applied")
	}
	return outcome.Outcome{}
}

// EnsurePatch applies the fields of a patch, JSON, unless the primary has them.
func (p *Patches) EnsurePatch(ctx context.Context, by plan.Patcher, fields []byte) (outcome.Action, error) {
	w, hash := p.Memory.Patch(by.Manager), decide.PatchHash(fields)
	desired, err := p.MissingPatch(by, fields)
	if desired == nil || err != nil {
		return outcome.Unchanged, err
	}
	return p.damped(w, hash, func() error { return p.applyPatch(ctx, by, w, desired) })
}

// damped sends a patch, unless it was rejected or another writer undoes it each time. hash identifies it.
func (p *Patches) damped(w *access.WrittenPatch, hash [16]byte, send func() error) (outcome.Action, error) {
	version := p.MetadataVersion()
	if err := w.Rejected.Stands(p.Subject, hash, version); err != nil {
		return outcome.Unchanged, err
	}
	// A changed patch counts too: its inputs may depend on the fields that it
	// writes.
	now, wait, culprit := p.Clock.Now(), time.Duration(0), ""
	before, repeats := w.Damper, w.Rejected.Repeats(hash)
	switch {
	case w.Renew:
	case w.Hash == hash:
		wait, culprit = w.Damper.Repair(now), "another writer changed the fields that reconcel patches"
	default:
		wait = w.Damper.Change(now)
	}
	if wait > 0 {
		return outcome.Unchanged, &decide.ConflictLoopError{Object: p.Req.String(), By: culprit, Wait: wait}
	}
	if err := send(); err != nil {
		if w.Damper.Uncount(before, err); repeats {
			w.Damper = before
		}
		return outcome.Unchanged, p.Answers.NoteRejection(&w.Rejected, hash, version, err)
	}
	w.Hash = hash
	return outcome.Configured, nil
}

// MissingPatch returns the fields of a patch, or nil if the primary has them and no others
// of an earlier version.
func (p *Patches) MissingPatch(by plan.Patcher, fields []byte) (desired map[string]any, err error) {
	w, own := p.Memory.Patch(by.Manager), by.Owned(p.Self)
	renew := p.Self.Moves(by.Manager) || w.Renew
	if w.Hash == decide.PatchHash(fields) &&
		(own == w.Fields && !renew && !w.Schema.Predates(p.Cache.Granular(), own, nil) || p.Self.OlderThan(w.Version)) {
		return nil, nil // No other writer changed the patched fields.
	}
	if err := utiljson.Unmarshal(fields, &desired); err != nil {
		return nil, err
	}
	rendering := func() map[string]any { return desired }
	if owned := own.Set(); !renew && !w.Schema.Predates(p.Cache.Granular(), own, rendering) &&
		owned.Agrees(p.Self.Content(), desired) && !owned.Exceeds(desired) {
		return nil, nil
	}
	return desired, nil
}

// revert removes the fields of a rule's patch from the primary.
func (p *Patches) revert(ctx context.Context, rule *rules.Rule) error {
	if !p.Self.Patched() {
		return nil // Names of managers need not be composed for most primaries.
	}
	if err := p.unpatch(ctx, plan.PatcherOf(rule)); err != nil {
		return outcome.Position{Rule: rule.Name, Step: "revert"}.Wrap(fmt.Errorf("revert the patch: %w", err))
	}
	return nil
}

func (p *Patches) unpatch(ctx context.Context, by plan.Patcher) error {
	if !by.HasPatched(p.Self) {
		return nil
	}
	w := p.Memory.Patch(by.Manager)
	if w.Hash == [16]byte{} && p.Self.OlderThan(w.Version) {
		return nil // Already reverted, but the cache does not show it yet.
	}
	return p.applyPatch(ctx, by, w, map[string]any{})
}

func (p *Patches) applyPatch(ctx context.Context, by plan.Patcher, w *access.WrittenPatch,
	desired map[string]any) error {
	before := cmp.Or(w.Fields, by.Owned(p.Self))
	apply := func() (*watch.Object, error) {
		return p.Cluster.PatchPrimary(ctx, p.Primary.Watch, p.Cache.Kind(), p.Self, by, desired)
	}
	o, err := apply()
	var divided []fieldpath.Path
	if err == nil {
		divided = w.Schema.Divided(p.Cache.Granular(), before, by.Owned(o))
	}
	if len(divided) > 0 || apierrors.IsInvalid(err) {
		var removed bool
		applier := managedfields.Applier{Name: by.Manager}
		if removed, err = p.RemoveLeft(ctx, by.Rule, applier, desired, divided, err); removed {
			o, err = apply()
		}
	}
	if err != nil {
		return err
	}
	*w = access.WrittenPatch{Fields: by.Owned(o), Version: o.GetResourceVersion(), Schema: w.Schema, Damper: w.Damper}
	return nil
}

// pruneOrphanedPatch reverts a removed rule's patch of the primary once the
// patches of all other rules are known.
func (p *Pruner) pruneOrphanedPatch(ctx context.Context, rule *rules.Rule) (why string, err error) {
	for i := range p.Rendering.Rules {
		if r := &p.Rendering.Rules[i]; !r.Teardown && r.Rule.Patches() && (r.Err != nil || r.PatchErr != nil ||
			len(r.PatchWaits) > 0) {
			return "another rule also patches it, and that patch is not known yet", nil
		}
	}
	if !plan.PatcherOf(rule).HasPatched(p.Self) {
		return "", nil
	}
	if err := p.Patches.revert(ctx, rule); err != nil {
		return "", err
	}
	p.Log.Info("reverted the patch of a removed rule", "object", p.Req.String(), "rule", rule.Name)
	return "", nil
}

// RemoveLeft removes what an apply to the primary, a patch or the status, has left or makes null, with the identity
// of the rule of that apply. It reports whether it has removed anything, so that the same apply follows.
func (p *Patches) RemoveLeft(ctx context.Context, rule *rules.Rule, by managedfields.Applier, desired map[string]any,
	divided []fieldpath.Path, rejection error) (bool, error) {
	causes := outcome.CausedFields(rejection)
	if len(divided)+len(causes) == 0 {
		return false, rejection
	}
	live, err := p.Reader.ReadPrimary(ctx)
	if live == nil || err != nil {
		return false, errors.Join(rejection, err)
	}
	patch, err := managedfields.Repair{Live: live, Desired: desired, Manager: by, Divided: divided,
		Causes: causes}.RemoveLeftovers()
	if patch == nil || err != nil {
		return false, errors.Join(rejection, err)
	}
	_, err = p.Cluster.Writer(rule, p.Req, p.Cache.Kind(), p.Req.Namespace).Edit(ctx, p.Req.Name, patch, by)
	return err == nil, decide.RepairError(err)
}

// WithdrawAnnotation removes the annotation, unless it may be that of another installation.
func (p *Patches) WithdrawAnnotation(ctx context.Context, total outcome.Outcome) outcome.Outcome {
	if p.Gone || !p.Self.Patched() || p.View.Refused() {
		return total
	}
	if err := p.unpatch(ctx, p.Cluster.Annotator()); err != nil {
		return outcome.Worse(total, p.Answers.OutcomeOf(outcome.Position{Step: rules.AnnotationStatus}.Wrap(
			fmt.Errorf("remove the annotation %s: %w", rules.AnnotationStatus, err))))
	}
	return total
}
