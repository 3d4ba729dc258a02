package report

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"reconcel/engine/access"
	"reconcel/engine/decide"
	"reconcel/engine/discover"
	"reconcel/engine/managedfields"
	"reconcel/engine/outcome"
	"reconcel/engine/write"
	"reconcel/rules"
)

// settle is how long a primary must be progressing, waiting or retrying before
// its status reports it. Most primaries become ready within that time and need
// only one status write instead of three. A final state, good or bad, is written
// at once. While requests are slow, so are the controllers that make the children
// ready: settle then is writesToSettle times as long as the slowest write took.
const (
	settle         = 500 * time.Millisecond
	LongestSettle  = 5 * time.Second
	writesToSettle = 10
)

// Status writes the primary's status if it differs from the rendered fields and
// conditions, and the annotation that reports it for kinds without conditions. It returns
// the outcome merged with the results of the writes.
func (r *Reporter) Status(ctx context.Context, total outcome.Outcome, now time.Time) outcome.Outcome {
	if r.View.Refused() {
		return total // The write would remove the status fields of the other installation.
	}
	list, known := r.Cache.Conditions()
	if !known {
		return total // The kind's schema is not known yet. The primary is enqueued when it is.
	}
	draft := r.Draft(list, total)
	draft.total = draft.ensure(ctx, now)
	return draft.annotate(ctx)
}

// Draft begins the status of a primary.
func (r *Reporter) Draft(list discover.ConditionList, total outcome.Outcome) *StatusDraft {
	return &StatusDraft{
		Subject: r.Subject, view: r.View, reader: r.Reader, answers: r.Answers, patches: r.Patches,
		list: list, total: total,
	}
}

// A StatusDraft is the status that a reconciliation writes.
type StatusDraft struct {
	*access.Subject
	view    *access.View
	reader  *access.Reader
	answers *access.Answers
	patches *write.Patches

	list     discover.ConditionList
	total    outcome.Outcome
	silenced map[*rules.Rule]bool // rules whose status the API server rejects; nil: none
}

func (s *StatusDraft) ensure(ctx context.Context, now time.Time) outcome.Outcome {
	wait, err := s.write(ctx, now)
	total := s.total.After(wait)
	if errors.Is(err, decide.ErrStale) {
		return outcome.Worse(total, s.answers.OutcomeOf(err).Quietly())
	}
	s.total = s.withWrite(total, err)
	if terminal, ok := errors.AsType[*outcome.TerminalError](err); ok && terminal.Reason == outcome.ReasonRejected &&
		s.list != discover.NoConditions {
		s.silence(terminal)
		wait, err = s.write(ctx, now)
		return outcome.Worse(s.total, s.answers.OutcomeOf(err).Quietly()).After(wait)
	}
	return s.total
}

// withWrite adds the error of a write of the report to an outcome.
func (s *StatusDraft) withWrite(total outcome.Outcome, err error) outcome.Outcome {
	if contested, ok := errors.AsType[*decide.ConflictLoopError](err); ok && total.State == outcome.Stalled {
		return total.After(contested.Wait) // The existing problem is more specific and more stable.
	}
	return outcome.WorseOfBoth(total, s.answers.OutcomeOf(err))
}

// write writes the status unless the live status is already the same. It returns
// the delay of the write of a status that still changes.
func (s *StatusDraft) write(ctx context.Context, now time.Time) (wait time.Duration, err error) {
	last := &s.Memory.Status
	if wait := last.Damper.Churn.Standing(now); wait > 0 {
		s.total = s.withWrite(s.total, s.restless(wait))
	}
	conditions := s.Conditions()
	digest := s.digest(conditions)
	if last.Known && last.Digest == digest && s.statusStands() &&
		!last.Schema.Predates(s.Cache.Granular(), s.Self.Fields(), nil) {
		s.Memory.Unsettled = time.Time{}
		return 0, nil
	}
	rejected := &last.Rejected
	if s.silenced != nil {
		if last.Rejected != nil && last.Rejected.Hash == digest {
			return 0, nil // The rejected status had no fields of the rules.
		}
		rejected = &last.Silenced
	}
	if err := (*rejected).Stands(s.Subject, digest, ""); err != nil {
		return 0, err
	}
	owned := s.Self.Fields().Set()
	desired, err := s.desired(conditions, owned, now)
	if err != nil {
		return 0, err
	}
	// New rules or a new generation alone need no write if the live status already
	// matches. A cache that is older than our last write cannot tell.
	rendering := func() map[string]any { return map[string]any{"status": desired} }
	if !s.Self.OlderThan(last.Version) && s.statusMatches(desired, owned.Under("status")) &&
		!last.Schema.Predates(s.Cache.Granular(), s.Self.Fields(), rendering) {
		last.Is(digest, s.Self)
		return 0, nil
	}
	if s.total.State.Moving() {
		if wait := s.unsettled(&s.Memory.Unsettled); wait > 0 {
			return wait, nil
		}
	}
	before, repeats := last.Damper, (*rejected).Repeats(digest)
	if last.Known && last.Digest == digest {
		if wait := last.Damper.Repair(s.Clock.Now()); wait > 0 {
			return 0, &decide.ConflictLoopError{Object: "status of " + s.Req.String(), By: "another writer changed it",
				Wait: wait}
		}
	}
	if last.Known && last.Digest != digest && !s.Self.OlderThan(last.Version) {
		if wait := last.Damper.Change(s.Clock.Now()); wait > 0 {
			return 0, s.restless(wait)
		}
	}
	s.Memory.Unsettled = time.Time{}
	said := LiveConditions(s.Self.Content())
	err = s.applyBound(ctx, conditions, desired, digest, now)
	if last.Damper.Uncount(before, err); repeats && err != nil {
		last.Damper = before
	}
	if err == nil && last.Digest == digest { // Otherwise the primary is gone.
		s.tell(conditions, said)
	}
	return 0, s.answers.NoteRejection(rejected, digest, "", err)
}

// restless returns the error of a status that is computed differently each time.
func (s *StatusDraft) restless(wait time.Duration) error {
	return &decide.ConflictLoopError{Object: "status of " + s.Req.String(), Reads: s.view.VolatileReads(), Wait: wait}
}

// statusStands reports whether our status fields are unchanged since our last
// write. A cache that is older than that write counts as unchanged.
func (s *StatusDraft) statusStands() bool {
	last := &s.Memory.Status
	return s.Self.Fields() == last.Fields && !s.Self.Moves(managedfields.Manager) || s.Self.OlderThan(last.Version)
}

// unsettled returns the remaining delay of the report of a primary whose state still
// changes. since is when the report first differed; it is set if it is zero.
func (s *StatusDraft) unsettled(since *time.Time) time.Duration {
	m, now := s.Memory, s.Clock.Now()
	if since.IsZero() {
		*since, m.Settle = now, settle
	}
	m.Settle = min(max(m.Settle, writesToSettle*m.SlowestWrite()), LongestSettle)
	return m.Settle - now.Sub(*since)
}

var scratch = sync.Pool{New: func() any { return new([]byte) }}

// digest returns a hash of the desired status without its times.
func (s *StatusDraft) digest(conditions []rules.Condition) [16]byte {
	buf := scratch.Get().(*[]byte)
	defer scratch.Put(buf)
	b := binary.AppendVarint((*buf)[:0], s.view.Generation())
	for i := range s.Rendering.Rules {
		r := &s.Rendering.Rules[i]
		if !s.silent(r) {
			b = append(b, r.Status...)
		}
		b = append(b, 0)
		if s.unevaluated(r) || r.StatusErr != nil {
			b = append(b, 1)
		}
		for _, path := range r.StatusFailed {
			b = append(append(b, 3), strings.Join(path, "\x00")...)
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

// unevaluated reports whether nothing is known about the rule's status. All its fields then keep their last values.
func (s *StatusDraft) unevaluated(r *rules.RuleResult) bool {
	if r.Err != nil && !r.Invalid || s.silent(r) {
		return true
	}
	if !r.Matches {
		return false
	}
	_, why := s.view.UnlistedKind(r)
	return why != ""
}

// desired returns the complete status that we apply and own.
func (s *StatusDraft) desired(conditions []rules.Condition, owned managedfields.Set,
	now time.Time) (map[string]any, error) {
	desired := map[string]any{}
	live, _ := s.Self.Content()["status"].(map[string]any)
	for i := range s.Rendering.Rules {
		r := &s.Rendering.Rules[i]
		if len(r.Status) > 0 && !s.silent(r) {
			rendered := map[string]any{}
			err := utiljson.Unmarshal(r.Status, &rendered) // Keeps integers.
			if err != nil {
				return nil, fmt.Errorf("rule %q: status: %w", r.Rule.Name, err)
			}
			mergeStatus(desired, rendered)
		}
		if s.unevaluated(r) {
			for _, key := range r.Rule.StatusKeys {
				keepStatus(desired, live, owned, []string{key})
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
	if _, rendered, err := unstructured.NestedFieldNoCopy(desired, path...); rendered || err != nil {
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
func (s *StatusDraft) statusMatches(desired map[string]any, owned managedfields.Set) bool {
	if s.Self.Moves(managedfields.Manager) {
		return false
	}
	if owned.Empty() || len(desired) == 0 {
		return owned.Empty() && len(desired) == 0
	}
	live, _ := s.Self.Content()["status"].(map[string]any)
	rest := maps.Clone(desired)
	delete(rest, "conditions")
	return owned.Covers(desired) && !owned.Exceeds(desired) && owned.Agrees(live, rest) &&
		containsConditions(live, desired) && !s.hasMoreConditions(live, desired)
}

// hasMoreConditions reports whether a list of conditions that belongs to one manager as a whole has one too many: its
// elements have no owners that could tell.
func (s *StatusDraft) hasMoreConditions(live, desired map[string]any) bool {
	there, _ := live["conditions"].([]any)
	wanted, _ := desired["conditions"].([]any)
	return s.list == discover.AtomicConditions && len(there) > len(wanted)
}

// reportKept logs the kept objects and records an Event, once for each set of them. It
// does not repeat a set that the condition already had when this process started.
func (r *Reporter) reportKept(kept []outcome.KeptObject) {
	c, _ := decide.KeptCondition(kept)
	m := r.Memory
	known := m.Reconciled
	m.Reconciled = true
	if m.Kept == c.Message {
		return
	}
	m.Kept = c.Message
	if c.Message == "" || !known || LiveConditions(r.Self.Content())[outcome.ConditionKept]["message"] == c.Message {
		return
	}
	r.Log.Info("objects kept", "object", r.Req.String(), "message", c.Message)
	r.Journal.TellState(outcome.ReasonKept, "kept although no rule renders it: "+c.Message)
}
