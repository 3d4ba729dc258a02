package engine

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"reconcel/engine/discover"
	"reconcel/engine/managedfields"
	"reconcel/rules"
)

// settle is how long a primary must have been moving before its status says
// so. Most get ready within it, and then need one write of status and not
// three. A final state, good or bad, is written at once.
const settle = 500 * time.Millisecond

// status writes the primary's status where it is not already as the rules and
// the outcome want it, and returns the outcome with what became of that.
func (p *pass) status(ctx context.Context, total outcome, now time.Time) outcome {
	if p.verdict.refusesAny(p.primary) {
		return total // It would drop what the other installation says there.
	}
	list := p.cache.conditions.Load()
	if list == nil {
		return total // The kind's schema is not known yet; asked again when it is.
	}
	err := p.say(ctx, *list, total, now)
	if contested, ok := errors.AsType[*contestedError](err); ok && total.state == stalled {
		p.again(contested.wait)
		return total // What is wrong already says more, and does not come and go.
	}
	total = both(total, p.outcomeOf(err))
	if terminal, ok := errors.AsType[*terminalError](err); ok && terminal.reason == reasonRefused && *list != discover.NoConditions {
		p.unsay(terminal)
		p.outcomeOf(p.say(ctx, *list, total, now))
	}
	return total
}

// say writes the status once.
func (p *pass) say(ctx context.Context, list discover.ConditionList, total outcome, now time.Time) error {
	conditions := p.conditions(list, total)
	digest := p.digest(conditions)
	last := &p.memory.status
	if last.known && last.digest == digest && p.statusStands() {
		p.memory.unsettled = time.Time{}
		return nil
	}
	refusal := &last.refusal
	if p.unsaid != nil {
		if last.refusal.hash == digest {
			return nil // Nothing of it came from the rules.
		}
		refusal = &last.unsaid
	}
	if err := refusal.ofBody(p, digest, ""); err != nil {
		return err
	}
	owned := p.self.fields.Set()
	desired, err := p.desiredStatus(list, conditions, owned, now)
	if err != nil {
		return err
	}
	// What is there already is not written only because there are other rules now,
	// or a new generation. A cache that is older than our last write does not tell.
	if !older(p.self.GetResourceVersion(), last.version) && p.statusMatches(desired, owned.Under("status")) {
		last.is(digest, p.self)
		return nil
	}
	if total.state.moving() && !p.moved(now) {
		return nil
	}
	if list == discover.AtomicConditions && p.patched {
		return nil // The list was merged from an older state. The patch brings us back.
	}
	if last.known && last.digest == digest {
		if err := p.dampStatus(last); err != nil {
			return err
		}
	}
	p.memory.unsettled = time.Time{}
	return refusal.noteBody(p, digest, "", p.writeStatus(ctx, list, desired, digest))
}

// statusStands reports whether nobody has touched our status fields since we
// last wrote them. A cache that is older than that write says nothing.
func (p *pass) statusStands() bool {
	last := &p.memory.status
	return p.self.fields == last.fields || older(p.self.GetResourceVersion(), last.version)
}

// moved reports whether the primary has been moving for long enough to say
// so, and asks for another look when it has not.
func (p *pass) moved(now time.Time) bool {
	if p.memory.unsettled.IsZero() {
		p.memory.unsettled = now
	}
	if rest := settle - now.Sub(p.memory.unsettled); rest > 0 {
		p.again(rest)
		return false
	}
	return true
}

var scratch = sync.Pool{New: func() any { return new([]byte) }}

// digest sums up what the status should say, apart from times.
func (p *pass) digest(conditions []rules.Condition) [16]byte {
	buf := scratch.Get().(*[]byte)
	defer scratch.Put(buf)
	b := binary.AppendVarint((*buf)[:0], p.generation())
	for i := range p.rendering.Rules {
		r := &p.rendering.Rules[i]
		if !p.silent(r) {
			b = append(b, r.Status...)
		}
		b = append(b, 0)
		if p.keepsStatus(r) {
			b = append(b, 1)
		}
	}
	for i := range conditions {
		c := &conditions[i]
		for _, s := range [...]string{c.Type, string(c.Status), c.Reason, c.Message} {
			b = append(b, s...)
			b = append(b, 0)
		}
	}
	*buf = b
	sum := sha256.Sum256(b)
	return [16]byte(sum[:16])
}

// generation returns the generation to be observed, or 0 for a kind without
// the status subresource: there a write of status is a new generation, and to
// observe it would be another write, for ever.
func (p *pass) generation() int64 {
	if !p.cache.kind.Status {
		return 0
	}
	return p.self.GetGeneration()
}

// keepsStatus reports whether the rule could not say all of its status: what
// it said before is then repeated, for an error is not absence.
func (p *pass) keepsStatus(r *rules.RuleResult) bool {
	if r.Err != nil || r.StatusErr != nil || p.silent(r) {
		return true
	}
	if !r.Matches {
		return false
	}
	_, why := p.unwatched(r)
	return why != ""
}

// desiredStatus returns the whole status that we want to own.
func (p *pass) desiredStatus(list discover.ConditionList, conditions []rules.Condition, owned managedfields.Set, now time.Time) (map[string]any, error) {
	desired := map[string]any{}
	live, _ := p.self.Object["status"].(map[string]any)
	for i := range p.rendering.Rules {
		r := &p.rendering.Rules[i]
		if len(r.Status) > 0 && !p.silent(r) {
			said := map[string]any{}
			err := utiljson.Unmarshal(r.Status, &said) // Keeps integers.
			if err != nil {
				return nil, fmt.Errorf("rule %q: status: %w", r.Rule.Name, err)
			}
			merge(desired, said)
		}
		if !p.keepsStatus(r) {
			continue
		}
		for _, key := range r.Rule.StatusKeys {
			if _, said := desired[key]; said {
				continue
			}
			if value, ok := live[key]; ok && owned.Owns(fieldpath.MakePathOrDie("status", key)) {
				desired[key] = value
			}
		}
	}
	if list != discover.NoConditions && len(conditions) > 0 {
		desired["conditions"] = p.conditionList(list, conditions, owned, now)
	}
	return desired, nil
}

// merge adds the entries of src to dst, maps entry by entry. That two rules do
// not write one field has been checked when they were loaded.
func merge(dst, src map[string]any) {
	for key, value := range src {
		a, both := dst[key].(map[string]any)
		b, isMap := value.(map[string]any)
		if both && isMap {
			a = maps.Clone(a)
			merge(a, b)
			value = a
		}
		dst[key] = value
	}
}

// statusMatches compares the live status with the desired one: same values,
// every field ours, and no field of ours that is no longer wanted.
func (p *pass) statusMatches(desired map[string]any, owned managedfields.Set) bool {
	if owned.Empty() || len(desired) == 0 {
		return owned.Empty() && len(desired) == 0
	}
	live, _ := p.self.Object["status"].(map[string]any)
	rest := maps.Clone(desired)
	delete(rest, "conditions")
	return owned.Covers(desired) && !owned.Exceeds(desired) && owned.Agrees(live, rest) && containsConditions(live, desired)
}

// writeStatus applies the status, and remembers the response.
func (p *pass) writeStatus(ctx context.Context, list discover.ConditionList, desired map[string]any, digest [16]byte) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	metadata := map[string]any{"name": p.req.Name}
	if p.req.Namespace != "" {
		metadata["namespace"] = p.req.Namespace
	}
	manager, subresources := managedfields.Manager, []string{"status"}
	if !p.cache.kind.Status {
		manager, subresources = managedfields.StatusManager, nil
		metadata["uid"] = string(p.req.UID) // Never make the object anew.
	}
	if list == discover.AtomicConditions {
		metadata["resourceVersion"] = p.self.GetResourceVersion() // The list was merged from this state.
	}
	body, err := json.Marshal(map[string]any{
		"apiVersion": p.cache.kind.GVK.GroupVersion().String(), "kind": p.cache.kind.GVK.Kind,
		"metadata": metadata, "status": desired,
	})
	if err != nil {
		return fmt.Errorf("write status: %w", err)
	}
	force := true
	response, err := p.engine.own(p.cache.kind, p.req.Namespace).Patch(ctx, p.req.Name, types.ApplyPatchType, body,
		metav1.PatchOptions{FieldManager: manager, Force: &force}, subresources...)
	if apierrors.IsNotFound(err) {
		return nil // The primary has gone.
	}
	if err != nil {
		return refused(fmt.Errorf("write status: %w", ordered(err)))
	}
	p.engine.metrics.writes.WithLabelValues("status", p.req.Kind.Kind).Inc()
	o := newObject(response, primaryRole)
	p.memory.status.is(digest, o)
	p.memory.self = o // What is repeated of it next must not be from before.
	return nil
}

// dampStatus counts that somebody else has changed our fields of the status, and
// returns an error if they are to be restored later.
func (p *pass) dampStatus(last *writtenStatus) error {
	if last.contest == nil {
		last.contest = &contest{}
	}
	wait := last.contest.repair(p.engine.clock.Now())
	if wait == 0 {
		return nil
	}
	return &contestedError{object: "status of " + p.req.String(), by: "another writer changed it", wait: wait}
}
