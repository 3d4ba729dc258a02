package engine

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"reconcel/engine/discover"
	"reconcel/engine/managedfields"
	"reconcel/rules"
)

// settle is how long a primary must be progressing, waiting or retrying before
// its status reports it. Most primaries become ready within that time and need
// only one status write instead of three. A final state, good or bad, is written
// at once. While requests are slow, so are the controllers that make the children
// ready: settle then is writesToSettle times as long as the slowest write took.
const (
	settle         = 500 * time.Millisecond
	longestSettle  = 5 * time.Second
	writesToSettle = 10
)

// status writes the primary's status if it differs from the rendered fields and
// conditions, and the annotation that reports it for kinds without conditions. It returns
// the outcome merged with the results of the writes.
func (p *pass) status(ctx context.Context, total outcome, now time.Time) outcome {
	if p.refused() {
		return total // The write would remove the status fields of the other installation.
	}
	list, known := p.cache.Conditions()
	if !known {
		return total // The kind's schema is not known yet. The primary is enqueued when it is.
	}
	draft := &statusDraft{pass: p, list: list, total: total}
	draft.total = draft.ensure(ctx, now)
	return draft.annotate(ctx)
}

func (s *statusDraft) ensure(ctx context.Context, now time.Time) outcome {
	wait, err := s.write(ctx, now)
	total := s.total.after(wait)
	if errors.Is(err, errStale) {
		return worse(total, s.outcomeOf(err).quietly())
	}
	s.total = s.withWrite(total, err)
	if terminal, ok := errors.AsType[*terminalError](err); ok && terminal.reason == reasonRejected && s.list != discover.NoConditions {
		s.silence(terminal)
		wait, err = s.write(ctx, now)
		return worse(s.total, s.outcomeOf(err).quietly()).after(wait)
	}
	return s.total
}

// withWrite adds the error of a write of the report to an outcome.
func (p *pass) withWrite(total outcome, err error) outcome {
	if contested, ok := errors.AsType[*conflictLoopError](err); ok && total.state == stalled {
		return total.after(contested.wait) // The existing problem is more specific and more stable.
	}
	return worseOfBoth(total, p.outcomeOf(err))
}

// A statusDraft is the status that a reconciliation writes.
type statusDraft struct {
	*pass
	list     discover.ConditionList
	total    outcome
	silenced map[*rules.Rule]bool // rules whose status the API server rejects; nil: none
}

// write writes the status unless the live status is already the same. It returns
// the delay of the write of a status that still changes.
func (s *statusDraft) write(ctx context.Context, now time.Time) (wait time.Duration, err error) {
	last := &s.memory.status
	if wait := last.damper.churn.standing(now); wait > 0 {
		s.total = s.withWrite(s.total, s.restless(wait))
	}
	conditions := s.conditions()
	digest := s.digest(conditions)
	if last.known && last.digest == digest && s.statusStands() && !last.schema.predates(s.cache.Granular(), s.self.Fields(), nil) {
		s.memory.unsettled = time.Time{}
		return 0, nil
	}
	rejected := &last.rejected
	if s.silenced != nil {
		if last.rejected != nil && last.rejected.hash == digest {
			return 0, nil // The rejected status had no fields of the rules.
		}
		rejected = &last.silenced
	}
	if err := (*rejected).stands(s.pass, digest, ""); err != nil {
		return 0, err
	}
	owned := s.self.Fields().Set()
	desired, err := s.desired(conditions, owned, now)
	if err != nil {
		return 0, err
	}
	// New rules or a new generation alone need no write if the live status already
	// matches. A cache that is older than our last write cannot tell.
	rendering := func() map[string]any { return map[string]any{"status": desired} }
	if !s.self.OlderThan(last.version) && s.statusMatches(desired, owned.Under("status")) && !last.schema.predates(s.cache.Granular(), s.self.Fields(), rendering) {
		last.is(digest, s.self)
		return 0, nil
	}
	if s.total.state.moving() {
		if wait := s.unsettled(&s.memory.unsettled); wait > 0 {
			return wait, nil
		}
	}
	before := last.damper
	if last.known && last.digest == digest {
		if wait := last.damper.repair(s.engine.clock.Now()); wait > 0 {
			return 0, &conflictLoopError{object: "status of " + s.req.String(), by: "another writer changed it", wait: wait}
		}
	}
	if last.known && last.digest != digest && !s.self.OlderThan(last.version) {
		if wait := last.damper.change(s.engine.clock.Now()); wait > 0 {
			return 0, s.restless(wait)
		}
	}
	s.memory.unsettled = time.Time{}
	err = s.applyBound(ctx, conditions, desired, digest, now)
	last.damper.uncount(before, err)
	return 0, s.noteRejection(rejected, digest, "", err)
}

// restless returns the error of a status that is computed differently each time.
func (p *pass) restless(wait time.Duration) error {
	return &conflictLoopError{object: "status of " + p.req.String(), reads: p.volatileReads(), wait: wait}
}

// volatileReads says what the rules of the primary read that changes with each of its writes, or "".
func (p *pass) volatileReads() string {
	var all []string
	for _, r := range p.primary.Rules {
		for _, v := range r.VolatileReads(p.cache.Kind().Status) {
			all = append(all, fmt.Sprintf("%s, which changes with every write (%s)", v.Text(), v.Pos))
		}
	}
	return joinFirst(all)
}

// statusStands reports whether our status fields are unchanged since our last
// write. A cache that is older than that write counts as unchanged.
func (p *pass) statusStands() bool {
	last := &p.memory.status
	return p.self.Fields() == last.fields && !p.self.Moves(managedfields.Manager) || p.self.OlderThan(last.version)
}

// unsettled returns the remaining delay of the report of a primary whose state still
// changes. since is when the report first differed; it is set if it is zero.
func (p *pass) unsettled(since *time.Time) time.Duration {
	m, now := p.memory, p.engine.clock.Now()
	if since.IsZero() {
		*since, m.settle = now, settle
	}
	m.settle = min(max(m.settle, writesToSettle*m.slowestWrite()), longestSettle)
	return m.settle - now.Sub(*since)
}

var scratch = sync.Pool{New: func() any { return new([]byte) }}

// digest returns a hash of the desired status without its times.
func (s *statusDraft) digest(conditions []rules.Condition) [16]byte {
	buf := scratch.Get().(*[]byte)
	defer scratch.Put(buf)
	b := binary.AppendVarint((*buf)[:0], s.generation())
	for i := range s.rendering.Rules {
		r := &s.rendering.Rules[i]
		if !s.silent(r) {
			b = append(b, r.Status...)
		}
		b = append(b, 0)
		if s.keepsStatus(r) {
			b = append(b, 1)
		}
		for _, entry := range r.UndecidedConditions {
			b = binary.AppendVarint(append(b, 2), int64(entry))
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

// generation returns the value for observedGeneration, or 0 for a kind without
// the status subresource. For such a kind, each status write creates a new
// generation, and recording it would need another write, in an endless loop.
func (p *pass) generation() int64 {
	if !p.cache.Kind().Status {
		return 0
	}
	return p.self.GetGeneration()
}

// keepsStatus reports whether the rule could not render all its status fields. The
// missing fields then keep their last values, because an error does not mean
// that they are absent.
func (s *statusDraft) keepsStatus(r *rules.RuleResult) bool {
	return r.StatusErr != nil || s.unevaluated(r)
}

// unevaluated reports whether nothing is known about the rule's status.
func (s *statusDraft) unevaluated(r *rules.RuleResult) bool {
	if r.Err != nil && !r.Invalid || s.silent(r) {
		return true
	}
	if !r.Matches {
		return false
	}
	_, why := s.unlistedKind(r)
	return why != ""
}

// desired returns the complete status that we apply and own.
func (s *statusDraft) desired(conditions []rules.Condition, owned managedfields.Set, now time.Time) (map[string]any, error) {
	desired := map[string]any{}
	live, _ := s.self.Content()["status"].(map[string]any)
	for i := range s.rendering.Rules {
		r := &s.rendering.Rules[i]
		if len(r.Status) > 0 && !s.silent(r) {
			rendered := map[string]any{}
			err := utiljson.Unmarshal(r.Status, &rendered) // Keeps integers.
			if err != nil {
				return nil, fmt.Errorf("rule %q: status: %w", r.Rule.Name, err)
			}
			mergeStatus(desired, rendered)
		}
		if !s.keepsStatus(r) {
			continue
		}
		for _, key := range r.Rule.StatusKeys {
			if _, rendered := desired[key]; rendered {
				continue
			}
			if value, ok := live[key]; ok && owned.Owns(fieldpath.MakePathOrDie("status", key)) {
				desired[key] = value
			}
		}
		for _, path := range r.StatusFailed {
			keepStatus(desired, live, owned, path)
		}
	}
	if s.list != discover.NoConditions && len(conditions) > 0 {
		desired["conditions"] = s.conditionList(conditions, owned, now)
	}
	return desired, nil
}

// keepStatus keeps the live value of a field that failed: what cannot be computed is not absent.
func keepStatus(desired, live map[string]any, owned managedfields.Set, path []string) {
	if _, rendered, err := unstructured.NestedFieldNoCopy(desired, path...); rendered || err != nil || len(path) == 0 {
		return
	}
	value, found, err := unstructured.NestedFieldCopy(live, path...)
	field := []any{"status"}
	for _, key := range path {
		field = append(field, key)
	}
	if err != nil || !found || !owned.Owns(fieldpath.MakePathOrDie(field...)) {
		return
	}
	_ = unstructured.SetNestedField(desired, value, path...) // It fails if a rule renders a parent that is no map.
}

// mergeStatus merges src into dst recursively. Package rules has already rejected
// rules that write the same field.
func mergeStatus(dst, src map[string]any) {
	for key, value := range src {
		a, both := dst[key].(map[string]any)
		b, isMap := value.(map[string]any)
		if both && isMap {
			a = maps.Clone(a)
			mergeStatus(a, b)
			value = a
		}
		dst[key] = value
	}
}

// statusMatches reports whether the live status matches the desired one: equal
// values, all fields owned by us, and no owned field that is no longer desired.
func (p *pass) statusMatches(desired map[string]any, owned managedfields.Set) bool {
	if p.self.Moves(managedfields.Manager) {
		return false
	}
	if owned.Empty() || len(desired) == 0 {
		return owned.Empty() && len(desired) == 0
	}
	live, _ := p.self.Content()["status"].(map[string]any)
	rest := maps.Clone(desired)
	delete(rest, "conditions")
	return owned.Covers(desired) && !owned.Exceeds(desired) && owned.Agrees(live, rest) && containsConditions(live, desired)
}
