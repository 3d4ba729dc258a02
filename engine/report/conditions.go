package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"reconcel/engine/decide"
	"reconcel/engine/discover"
	"reconcel/engine/managedfields"
	"reconcel/engine/outcome"
	"reconcel/rules"
)

// Conditions returns all our conditions of the primary: the built-in ones, then
// those of its rules.
func (s *StatusDraft) Conditions() []rules.Condition {
	if s.list == discover.NoConditions {
		return nil
	}
	ready := s.Ready()
	all := append(make([]rules.Condition, 0, 4), ready)
	switch s.total.State {
	case outcome.Progressing, outcome.Waiting, outcome.Retrying:
		all = append(all, rules.Condition{Type: outcome.ConditionReconciling, Status: rules.True, Reason: ready.Reason,
			Message: ready.Message})
	case outcome.Stalled:
		all = append(all, rules.Condition{Type: outcome.ConditionStalled, Status: rules.True, Reason: ready.Reason,
			Message: ready.Message})
	}
	if kept, ok := decide.KeptCondition(s.total.Kept); ok {
		all = append(all, kept)
	}
	if len(s.Primary.Plan.Holds) > 0 {
		all = append(all, s.view.HoldConditions()...)
	}
	for i := range s.Rendering.Rules {
		if r := &s.Rendering.Rules[i]; !s.silent(r) {
			all = append(all, r.Conditions...)
		}
	}
	return all
}

// Ready returns the condition that says what came of the reconciliation.
func (s *StatusDraft) Ready() rules.Condition {
	status, total := rules.False, s.total
	switch total.State {
	case outcome.Paused:
		status = rules.Unknown
	case outcome.Ready:
		status = rules.True
		total = outcome.Outcome{Reason: outcome.ReasonReconciled,
			Text: "all children are up to date and ready" + s.excludedReaders()}
	}
	return rules.Condition{Type: outcome.ConditionReady, Status: status, Reason: total.Reason, Message: total.Message()}
}

// excludedReaders names the children that are excluded because they read an excluded one, which their authors may not
// have meant.
func (s *StatusDraft) excludedReaders() string {
	var all []string
	note := func(c *rules.Child, read []string) {
		if len(read) == 0 {
			return
		}
		if text := fmt.Sprintf("%s, which reads %s", c.ID, strings.Join(read, " and ")); !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	for i := range s.Rendering.Rules {
		for j := range s.Rendering.Rules[i].Children {
			c := &s.Rendering.Rules[i].Children[j]
			note(c.Child, c.Excluded)
			for k := range c.Objects {
				note(c.Child, c.Objects[k].Excluded)
			}
		}
	}
	if len(all) == 0 {
		return ""
	}
	return "; excluded: " + outcome.JoinFirst(all)
}

// conditionList returns the list of conditions to apply. If the list is atomic for
// the API server, it repeats the conditions of other writers.
func (s *StatusDraft) conditionList(conditions []rules.Condition, owned managedfields.Set, now time.Time) []any {
	live := LiveConditions(s.Self.Content())
	ours := map[string]bool{}
	result := make([]any, 0, len(conditions))
	for i := range conditions {
		ours[conditions[i].Type] = true
		result = append(result, s.condition(&conditions[i], live[conditions[i].Type], now))
	}
	var others []any
	status, _ := s.Self.Content()["status"].(map[string]any)
	all, _ := status["conditions"].([]any)
	for _, c := range all {
		entry, _ := c.(map[string]any)
		kind, _ := entry["type"].(string)
		switch {
		case ours[kind]:
		case s.total.State == outcome.Paused && kind == outcome.ConditionKept:
			result = append(result, entry) // What is kept is not known now.
		case s.list == discover.KeyedConditions:
			if ownsCondition(owned, kind) && s.keepsCondition(kind) {
				result = append(result, entry)
			}
		case kind != outcome.ConditionReconciling && kind != outcome.ConditionStalled && kind != outcome.ConditionKept &&
			kind != outcome.ConditionHeld:
			others = append(others, c)
		}
	}
	return append(others, result...)
}

func ownsCondition(owned managedfields.Set, kind string) bool {
	return owned.Owns(fieldpath.MakePathOrDie("status", "conditions", fieldpath.KeyByFields("type", kind)))
}

// keepsCondition reports whether a condition that we have set stays, although no rule
// sets it now: a rule that could not be evaluated may set it, or a forEach whose elements
// are not known.
func (s *StatusDraft) keepsCondition(kind string) bool {
	for i := range s.Rendering.Rules {
		r := &s.Rendering.Rules[i]
		if s.unevaluated(r) && r.Rule.MayRenderCondition(kind) || r.MayRenderCondition(kind) {
			return true
		}
	}
	return false
}

// condition completes one condition. It keeps the live lastTransitionTime unless
// the status changes. Fields that the kind does not have are left out.
func (s *StatusDraft) condition(c *rules.Condition, live map[string]any, now time.Time) map[string]any {
	since := now.UTC().Format(time.RFC3339)
	if old, ok := live["lastTransitionTime"].(string); ok && live["status"] == string(c.Status) {
		since = old
	}
	entry := map[string]any{
		"type": c.Type, "status": string(c.Status), "reason": c.Reason, "message": c.Message, "lastTransitionTime": since,
	}
	if s.Cache.Kind().Status {
		entry["observedGeneration"] = s.view.Generation()
	}
	maps.DeleteFunc(entry, func(field string, _ any) bool { return !s.Cache.HasConditionField(field) })
	return entry
}

// tell records the Events of conditions that have changed. A condition is compared with what the status said before it
// was written, so that a restart repeats nothing.
func (s *StatusDraft) tell(conditions []rules.Condition, said map[string]map[string]any) {
	for i := range conditions {
		c := &conditions[i]
		differs := func(field, now string) bool {
			before, _ := said[c.Type][field].(string)
			return before != now && s.Cache.HasConditionField(field)
		}
		if c.Event == "" || !differs("status", string(c.Status)) && !differs("reason", c.Reason) &&
			!differs("message", c.Message) {
			continue
		}
		note := cmp.Or(c.Message, c.Type+" is "+string(c.Status))
		if c.Event == corev1.EventTypeWarning {
			s.Events.Warning(s.Self, c.Reason, note)
		} else {
			s.Events.Normal(s.Self, c.Reason, note)
		}
	}
}

// LiveConditions returns the conditions of an object by type.
func LiveConditions(object map[string]any) map[string]map[string]any {
	status, _ := object["status"].(map[string]any)
	list, _ := status["conditions"].([]any)
	found := make(map[string]map[string]any, len(list))
	for _, c := range list {
		entry, _ := c.(map[string]any)
		if kind, ok := entry["type"].(string); ok {
			found[kind] = entry
		}
	}
	return found
}

// containsConditions reports whether the live status has every desired condition
// unchanged.
func containsConditions(live, desired map[string]any) bool {
	have := LiveConditions(map[string]any{"status": live})
	for kind, want := range LiveConditions(map[string]any{"status": desired}) {
		if !(managedfields.Set{}).Agrees(have[kind], want) {
			return false
		}
	}
	return true
}
