package write

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/engine/access"
	"reconcel/engine/answer"
	"reconcel/engine/decide"
	"reconcel/engine/ident"
	"reconcel/engine/outcome"
	"reconcel/engine/plan"
	"reconcel/engine/watch"
	"reconcel/rules"
	"reconcel/rules/kstatus"
)

// DoneMarks remember on the primary which of its objects are done.
type DoneMarks struct {
	*access.Subject
	View     *access.View
	Answers  *access.Answers
	Metadata *access.Metadata
}

// MarkOf returns which mark of a rule a primary has, in words: its finalizer, or else its annotation. They are
// removed together. It returns "" if the primary has no mark.
func MarkOf(o *watch.Object, rule string) string {
	if slices.Contains(o.GetFinalizers(), rules.Finalizer(rule)) {
		return "finalizer " + rules.Finalizer(rule)
	}
	if _, remembers := plan.DoneText(o, rule); remembers {
		return "annotation " + rules.DonePrefix + rule
	}
	return ""
}

// missesNothing reports whether an object is gone or going after it has done what this rendering says.
func (k *Known) missesNothing(d *rules.Desired, live *watch.Object) bool {
	return k.hasDone(d) && !k.retry && (live == nil || (live.Terminating() || k.Deleted) && live.GetUID() == d.Done.UID)
}

// hasRun reports whether an object that exists has done what this rendering says.
func (k *Known) hasRun(d *rules.Desired, live *watch.Object) bool {
	return k.hasDone(d) && live.GetUID() == d.Done.UID
}

func (k *Known) hasDone(d *rules.Desired) bool {
	return d.Done != nil && !k.again && d.IsDone(d.Done)
}

// Remember notes on the primary which objects of a rule are done, and forgets those that the rule no
// longer wants.
func (p *DoneMarks) Remember(ctx context.Context, r *rules.RuleResult) outcome.Outcome {
	if r.DoneErr != nil {
		message := fmt.Sprintf("the annotation %s cannot be read, what it remembers is lost: %v",
			rules.DonePrefix+r.Rule.Name, r.DoneErr)
		if p.Memory.IsNews(rules.DonePrefix+r.Rule.Name, message) {
			p.Log.Warn("done objects unknown", "object", p.Req.String(), "rule", r.Rule.Name, "message", message)
		}
	}
	all, changed := p.stillDone(r)
	for i := range r.Children {
		c := &r.Children[i]
		for j := range c.Objects {
			d := &c.Objects[j]
			now := p.finished(d)
			if now == nil {
				continue
			}
			if all == nil {
				all = map[string]*rules.Done{}
			}
			if old := all[rules.DoneKey(d.Identity)]; old == nil || old.UID != now.UID || !d.IsDone(old) {
				all[rules.DoneKey(d.Identity)], changed = now, true
			}
		}
	}
	if !changed {
		return outcome.Outcome{}
	}
	if err := p.rememberDone(ctx, r.Rule, all); err != nil {
		at := outcome.Position{Rule: r.Rule.Name}
		return p.Answers.OutcomeOf(at.Wrap(fmt.Errorf("remember what is done: %w", err)))
	}
	return outcome.Outcome{}
}

// stillDone returns what of a rule stays done, and whether it differs from what the annotation says. A child may have
// another id now. What reconcel deleted itself, what exists again and what is tried again is not done.
func (p *DoneMarks) stillDone(r *rules.RuleResult) (all map[string]*rules.Done, changed bool) {
	if len(r.Done) == 0 {
		return nil, false
	}
	all = maps.Clone(r.Done)
	for i := range r.Children {
		c := &r.Children[i]
		for j := range c.Objects {
			key := rules.DoneKey(c.Objects[j].Identity)
			old := all[key]
			if old == nil || !c.Child.Remembers() {
				continue
			}
			live := p.View.Live(c.Objects[j].Identity)
			switch {
			case live != nil && live.GetUID() != old.UID && live.BelongsTo(p.Req), live == nil && old.Retried(p.Clock.Now()):
				delete(all, key)
				changed = true
			case old.Child != c.Child.ID:
				moved := *old
				moved.Child = c.Child.ID
				all[key], changed = &moved, true
			}
		}
	}
	before := len(all)
	maps.DeleteFunc(all, func(key string, d *rules.Done) bool {
		return !decide.StillWanted(r, key, d) || p.Memory.HasDeleted(d.UID)
	})
	return all, changed || len(all) != before
}

// rememberDone writes the annotation of a rule. If another writer undoes that again and again, it does so more and
// more slowly.
func (p *DoneMarks) rememberDone(ctx context.Context, rule *rules.Rule, all map[string]*rules.Done) error {
	name := rules.DonePrefix + rule.Name
	mark := p.Memory.Mark(name)
	before := mark.Damper
	if text, _ := plan.DoneText(p.Self, rule.Name); mark.Written && text != mark.Text {
		if wait := mark.Repair(p.Clock.Now()); wait > 0 {
			return &decide.ConflictLoopError{
				Object: p.Req.String(), By: "another writer changed the annotation " + name, Wait: wait,
				Remedy: "let that writer leave it out",
			}
		}
	}
	if err := p.writeDone(ctx, rule, all); err != nil {
		mark.Damper = before
		mark.Written = mark.Written && errors.Is(err, decide.ErrStale) // Otherwise it may be written, or not.
		return err
	}
	mark.Written = true
	mark.Text, _ = plan.DoneText(p.Self, rule.Name)
	return nil
}

// finished returns what an object has done that exists, or nil if it has not finished.
func (p *DoneMarks) finished(d *rules.Desired) *rules.Done {
	c := d.Child
	if !c.Remembers() || d.State != rules.Rendered || d.Live.Object == nil || d.Live.Done != nil {
		return nil
	}
	live := p.View.Live(d.Identity)
	if live == nil || p.View.Leaves(live) || !live.BelongsTo(p.Req) {
		return nil
	}
	at, finished := kstatus.Finished(live.Content())
	done := &rules.Done{Child: c.ID, UID: live.GetUID(), Run: d.Run(),
		Again: p.Self.GetAnnotations()[rules.AnnotationRunAgain]}
	switch ttl := d.Late(); {
	case c.IsJob() && !finished, d.Readiness == kstatus.Progressing:
		return nil
	case d.Readiness == kstatus.Stalled:
		if !c.IsJob() {
			return nil // It may recover.
		}
		done.Failed = outcome.Shorten(d.Reason, outcome.MostMessage)
		if len(ttl) > 0 {
			seconds, _ := ttl[0].Value.(int64)
			until := metav1.NewTime(at.Add(time.Duration(seconds) * time.Second))
			done.Until = &until
		}
	}
	done.Object = decide.Remnant(live, d.Identity)
	if c.Timeout > 0 {
		done.Of = p.Req.UID
	}
	return done
}

// writeDone writes the annotation of a rule, or removes it if nothing is done.
func (p *DoneMarks) writeDone(ctx context.Context, rule *rules.Rule, all map[string]*rules.Done) error {
	var value any
	if len(all) > 0 {
		text, err := json.Marshal(all)
		if err != nil {
			return err
		}
		if len(text) > decide.MaxDone {
			return fmt.Errorf("%d objects are done, which take %d bytes in the annotation %s, more than %d: let the rule "+
				"render fewer",
				len(all), len(text), rules.DonePrefix+rule.Name, decide.MaxDone)
		}
		value = string(text)
	}
	return p.Metadata.EditMetadata(ctx, p.Self.GetFinalizers(), map[string]any{rules.DonePrefix + rule.Name: value})
}

// ForgetDone removes the annotation of a rule that no longer selects the primary, or remembers nothing.
func (p *DoneMarks) ForgetDone(ctx context.Context, rule *rules.Rule) error {
	if _, found := plan.DoneText(p.Self, rule.Name); !found || p.Gone {
		return nil
	}
	p.Memory.Unmark(rules.DonePrefix + rule.Name)
	return p.writeDone(ctx, rule, nil)
}

// lateFields returns the late fields that an object lacks, once it is done.
func (p *ChildWriter) lateFields(d *rules.Desired, live *watch.Object) (missing []rules.FieldValue) {
	if live == nil || p.View.Leaves(live) {
		return nil
	}
	if d.Done == nil || d.Done.UID != live.GetUID() {
		return nil
	}
	for _, f := range d.Late() {
		if _, found, err := unstructured.NestedFieldNoCopy(live.Content(), f.Path...); err == nil && !found {
			missing = append(missing, f)
		}
	}
	return missing
}

// setLate sets fields of an object that is done. They are not part of its apply, so that they never
// count as drift.
func (p *ChildWriter) setLate(ctx context.Context, k ident.Kind, d *rules.Desired, w *access.Written,
	live *watch.Object, fields []rules.FieldValue) error {
	object := map[string]any{"metadata": map[string]any{"uid": string(live.GetUID()),
		"resourceVersion": live.GetResourceVersion()}}
	for _, f := range fields {
		if err := unstructured.SetNestedField(object, f.Value, f.Path...); err != nil {
			return err
		}
	}
	body, err := json.Marshal(object)
	if err != nil {
		return err
	}
	o, err := p.Cluster.Writer(d.Child.Rule, p.Req, k, d.Identity.Namespace).Merge(ctx, p.Primary.Children[d.Identity.GVK],
		d.Identity.Name, body)
	if apierrors.IsConflict(err) || answer.IsAbsent(err) {
		return decide.ErrStale
	}
	if err != nil {
		return outcome.ClassifyAnswer(err)
	}
	w.Object, w.Version = o, o.GetResourceVersion()
	return nil
}

// BackOff returns how long the creation of new replicas waits, and why: Pods that
// finish as soon as they start must not be recreated without a pause.
func (p *Children) BackOff(c *rules.ChildResult) (rest time.Duration, why string) {
	now := p.Clock.Now()
	count, youngest := 0, time.Time{}
	// Pods beyond MostFinished are about to be deleted.
	for _, live := range c.Finished[:min(len(c.Finished), plan.MostFinished)] {
		at := decide.FinishedAt(live.Object)
		if now.Sub(at) > decide.Lately {
			continue
		}
		count++
		if at.After(youngest) {
			youngest = at
		}
	}
	if count < 2 {
		return 0, ""
	}
	pause := decide.FirstPause << (count - 2)
	if rest = youngest.Add(pause).Sub(now); rest <= 0 {
		return 0, ""
	}
	// The whole pause: the remaining time would change every second.
	return rest, fmt.Sprintf("waits %d s: %d Pods finished recently", int(pause.Seconds()), count)
}
