package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/engine/answer"
	"reconcel/engine/watch"
	"reconcel/rules"
	"reconcel/rules/kstatus"
)

// This file remembers on the primary what its objects have done, in the annotation with
// rules.DonePrefix. It survives the object, the process and a backup. Neither an object that is gone,
// such as a Job with ttlSecondsAfterFinished, nor a new process is a reason to do it again.

// Limits of the annotation: the API server accepts 256 KiB of annotations for each object.
const (
	maxDone       = 128 << 10 // of one rule, in bytes
	maxDoneObject = 8 << 10   // of one object; a larger one loses everything but its metadata
)

// doneText returns the annotation of a rule on a primary.
func doneText(o *watch.Object, rule string) (text string, found bool) {
	metadata, _ := o.Content()["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	text, found = annotations[rules.DonePrefix+rule].(string)
	return text, found
}

// markOf returns which mark of a rule a primary has, in words: its finalizer, or else its annotation. They are
// removed together. It returns "" if there is none.
func markOf(o *watch.Object, rule string) string {
	if slices.Contains(o.GetFinalizers(), rules.Finalizer(rule)) {
		return "finalizer " + rules.Finalizer(rule)
	}
	if _, remembers := doneText(o, rule); remembers {
		return "annotation " + rules.DonePrefix + rule
	}
	return ""
}

// remembersIn reports whether a primary has the annotation of a rule.
func (pk *primaryKind) remembersIn(o *watch.Object) bool {
	return slices.ContainsFunc(pk.Rules, func(r *rules.Rule) bool { _, found := doneText(o, r.Name); return found })
}

// missesNothing reports whether an object is gone or going after it has done what this rendering says.
func (k *known) missesNothing(d *rules.Desired, live *watch.Object) bool {
	return k.hasDone(d) && !k.retry && (live == nil || (live.Terminating() || k.deleted) && live.GetUID() == d.Done.UID)
}

// hasRun reports whether an object that exists has done what this rendering says.
func (k *known) hasRun(d *rules.Desired, live *watch.Object) bool {
	return k.hasDone(d) && live.GetUID() == d.Done.UID
}

func (k *known) hasDone(d *rules.Desired) bool {
	return d.Done != nil && !k.again && d.IsDone(d.Done)
}

// remember notes on the primary which objects of a rule are done, and forgets those that the rule no
// longer wants.
func (p *pass) remember(ctx context.Context, r *rules.RuleResult) outcome {
	if r.DoneErr != nil {
		message := fmt.Sprintf("the annotation %s cannot be read, what it remembers is lost: %v", rules.DonePrefix+r.Rule.Name, r.DoneErr)
		if p.memory.isNews(rules.DonePrefix+r.Rule.Name, message) {
			p.engine.log.Warn("done objects unknown", "object", p.req.String(), "rule", r.Rule.Name, "message", message)
		}
	}
	all := maps.Clone(r.Done)
	before := len(all)
	maps.DeleteFunc(all, func(key string, d *rules.Done) bool { return !stillWanted(r, key, d) })
	changed := len(all) != before
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
		return outcome{}
	}
	at := position{rule: r.Rule.Name}
	if err := p.writeDone(ctx, r.Rule, all); err != nil {
		return p.outcomeOf(at.wrap(fmt.Errorf("remember what is done: %w", err)))
	}
	return outcome{}
}

// stillWanted reports whether a rule may need to know what an object has done.
func stillWanted(r *rules.RuleResult, key string, done *rules.Done) bool {
	i := slices.IndexFunc(r.Children, func(c rules.ChildResult) bool { return c.Child.ID == done.Child && c.Child.Remembers() })
	if i < 0 {
		return false
	}
	c := &r.Children[i]
	if finalizes := c.Child.Timeout > 0; finalizes != r.Teardown {
		return !finalizes // A primary that is not deleted, or deselected, after all begins anew.
	}
	switch c.State {
	case rules.Excluded:
		return false
	case rules.Waiting, rules.Failed:
		return true
	}
	return slices.ContainsFunc(c.Objects, func(d rules.Desired) bool {
		return d.State != rules.Excluded && (d.Identity.Name == "" || rules.DoneKey(d.Identity) == key)
	})
}

// finished returns what an object has done that exists, or nil if it has not finished.
func (p *pass) finished(d *rules.Desired) *rules.Done {
	c := d.Child
	if !c.Remembers() || d.State != rules.Rendered || d.Live.Object == nil || d.Live.Done != nil {
		return nil
	}
	live := p.live(d.Identity)
	if live == nil || p.leaves(live) || !live.BelongsTo(p.req) {
		return nil
	}
	at, finished := kstatus.Finished(live.Content())
	done := &rules.Done{Child: c.ID, UID: live.GetUID(), Run: d.Run(), Again: p.self.GetAnnotations()[rules.AnnotationRunAgain]}
	switch ttl := d.Late(); {
	case c.IsJob() && !finished, d.Readiness == kstatus.Progressing:
		return nil
	case d.Readiness == kstatus.Stalled:
		if len(ttl) == 0 {
			return nil // Only a user deletes it, to try it again.
		}
		seconds, _ := ttl[0].Value.(int64)
		until := metav1.NewTime(at.Add(time.Duration(seconds) * time.Second))
		done.Failed, done.Until = shorten(d.Reason, mostMessage), &until
	}
	done.Object = remnant(live, d.Identity)
	if c.Timeout > 0 {
		done.Of = p.req.UID
	}
	return done
}

// remnant returns what is kept of an object: what rules read of it, without its spec, and nothing of a
// Secret.
func remnant(live *watch.Object, id rules.Identity) map[string]any {
	if id.GVK.GroupKind() == secrets {
		return nil
	}
	out := maps.Clone(live.Content())
	for _, key := range []string{"apiVersion", "kind", "spec"} {
		delete(out, key)
	}
	old, _ := out["metadata"].(map[string]any)
	metadata := map[string]any{}
	for _, key := range []string{"creationTimestamp", "generation"} {
		if v, found := old[key]; found {
			metadata[key] = v
		}
	}
	for _, section := range []string{"labels", "annotations"} {
		marks, _ := old[section].(map[string]any)
		marks = maps.Clone(marks)
		maps.DeleteFunc(marks, func(key string, _ any) bool {
			return strings.HasPrefix(key, "reconcel.dev/") || strings.HasPrefix(key, "kubectl.kubernetes.io/")
		})
		if len(marks) > 0 {
			metadata[section] = marks
		}
	}
	out["metadata"] = metadata
	if text, err := json.Marshal(out); err != nil || len(text) > maxDoneObject {
		return map[string]any{"metadata": map[string]any{"creationTimestamp": metadata["creationTimestamp"]}}
	}
	return out
}

// writeDone writes the annotation of a rule, or removes it if nothing is done.
func (p *pass) writeDone(ctx context.Context, rule *rules.Rule, all map[string]*rules.Done) error {
	var value any
	if len(all) > 0 {
		text, err := json.Marshal(all)
		if err != nil {
			return err
		}
		if len(text) > maxDone {
			return fmt.Errorf("%d objects are done, which take %d bytes in the annotation %s, more than %d: let the rule render fewer",
				len(all), len(text), rules.DonePrefix+rule.Name, maxDone)
		}
		value = string(text)
	}
	return p.editMetadata(ctx, p.self.GetFinalizers(), map[string]any{rules.DonePrefix + rule.Name: value})
}

// forgetDone removes the annotation of a rule that no longer selects the primary.
func (p *pass) forgetDone(ctx context.Context, rule *rules.Rule) error {
	if _, found := doneText(p.self, rule.Name); !found || p.gone {
		return nil
	}
	return p.writeDone(ctx, rule, nil)
}

// lateFields returns the late fields that an object lacks, once it is done.
func (p *pass) lateFields(d *rules.Desired, live *watch.Object) (missing []rules.FieldValue) {
	if live == nil || p.leaves(live) {
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
func (p *pass) setLate(ctx context.Context, k Kind, d *rules.Desired, w *written, live *watch.Object, fields []rules.FieldValue) error {
	object := map[string]any{"metadata": map[string]any{"uid": string(live.GetUID()), "resourceVersion": live.GetResourceVersion()}}
	for _, f := range fields {
		if err := unstructured.SetNestedField(object, f.Value, f.Path...); err != nil {
			return err
		}
	}
	body, err := json.Marshal(object)
	if err != nil {
		return err
	}
	o, err := p.engine.writer(d.Child.Rule, p.req, k, d.Identity.Namespace).merge(ctx, p.primary.children[d.Identity.GVK], d.Identity.Name, body)
	if apierrors.IsConflict(err) || answer.IsAbsent(err) {
		return errStale
	}
	if err != nil {
		return classifyAnswer(err)
	}
	w.object, w.version = o, o.GetResourceVersion()
	return nil
}
