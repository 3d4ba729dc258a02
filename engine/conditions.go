package engine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"reconcel/engine/discover"
	"reconcel/engine/managedfields"
	"reconcel/rules"
)

// Types of the conditions that every custom resource with conditions gets. All but
// Ready are present only while they are True, as kstatus requires.
const (
	conditionReady       = "Ready"
	conditionReconciling = "Reconciling"
	conditionStalled     = "Stalled"
	conditionKept        = "Kept" // objects that no rule renders are not deleted
	conditionHeld        = "Held" // a changed rule does not take effect
)

// conditions returns all our conditions of the primary: the built-in ones, then
// those of its rules.
func (s *statusDraft) conditions() []rules.Condition {
	if s.list == discover.NoConditions {
		return nil
	}
	ready := s.ready()
	all := append(make([]rules.Condition, 0, 4), ready)
	switch s.total.state {
	case progressing, waiting, retrying:
		all = append(all, rules.Condition{Type: conditionReconciling, Status: rules.True, Reason: ready.Reason, Message: ready.Message})
	case stalled:
		all = append(all, rules.Condition{Type: conditionStalled, Status: rules.True, Reason: ready.Reason, Message: ready.Message})
	}
	if kept, ok := keptCondition(s.total.kept); ok {
		all = append(all, kept)
	}
	if len(s.primary.plan.holds) > 0 {
		all = append(all, s.holdConditions()...)
	}
	for i := range s.rendering.Rules {
		if r := &s.rendering.Rules[i]; !s.silent(r) {
			all = append(all, r.Conditions...)
		}
	}
	return all
}

// ready returns the condition that says what came of the reconciliation.
func (s *statusDraft) ready() rules.Condition {
	status, total := rules.False, s.total
	switch total.state {
	case paused:
		status = rules.Unknown
	case ready:
		status = rules.True
		total = outcome{reason: reasonReconciled, text: "all children are up to date and ready" + s.excludedReaders()}
	}
	return rules.Condition{Type: conditionReady, Status: status, Reason: total.reason, Message: total.message()}
}

// excludedReaders names the children that are excluded because they read an excluded one, which their authors may not
// have meant.
func (p *pass) excludedReaders() string {
	var all []string
	note := func(c *rules.Child, read []string) {
		if len(read) == 0 {
			return
		}
		if text := fmt.Sprintf("%s, which reads %s", c.ID, strings.Join(read, " and ")); !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	for i := range p.rendering.Rules {
		for j := range p.rendering.Rules[i].Children {
			c := &p.rendering.Rules[i].Children[j]
			note(c.Child, c.Excluded)
			for k := range c.Objects {
				note(c.Child, c.Objects[k].Excluded)
			}
		}
	}
	if len(all) == 0 {
		return ""
	}
	return "; excluded: " + joinFirst(all)
}

// conditionList returns the list of conditions to apply. If the list is atomic for
// the API server, it repeats the conditions of other writers.
func (s *statusDraft) conditionList(conditions []rules.Condition, owned managedfields.Set, now time.Time) []any {
	live := liveConditions(s.self.Content())
	ours := map[string]bool{}
	result := make([]any, 0, len(conditions))
	for i := range conditions {
		ours[conditions[i].Type] = true
		result = append(result, s.condition(&conditions[i], live[conditions[i].Type], now))
	}
	var others []any
	status, _ := s.self.Content()["status"].(map[string]any)
	all, _ := status["conditions"].([]any)
	for _, c := range all {
		entry, _ := c.(map[string]any)
		kind, _ := entry["type"].(string)
		switch {
		case ours[kind]:
		case s.list == discover.KeyedConditions:
			if ownsCondition(owned, kind) && s.keepsCondition(kind) {
				result = append(result, entry)
			}
		case kind != conditionReconciling && kind != conditionStalled && kind != conditionKept && kind != conditionHeld:
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
func (s *statusDraft) keepsCondition(kind string) bool {
	for i := range s.rendering.Rules {
		r := &s.rendering.Rules[i]
		if s.unevaluated(r) && r.Rule.MayRenderCondition(kind) || r.MayRenderCondition(kind) {
			return true
		}
	}
	return false
}

// condition completes one condition. It keeps the live lastTransitionTime unless
// the status changes.
func (p *pass) condition(c *rules.Condition, live map[string]any, now time.Time) map[string]any {
	since := now.UTC().Format(time.RFC3339)
	if old, ok := live["lastTransitionTime"].(string); ok && live["status"] == string(c.Status) {
		since = old
	}
	entry := map[string]any{
		"type": c.Type, "status": string(c.Status), "reason": c.Reason, "message": c.Message, "lastTransitionTime": since,
	}
	if p.cache.Kind().Status {
		entry["observedGeneration"] = p.generation()
	}
	return entry
}

// liveConditions returns the conditions of an object by type.
func liveConditions(object map[string]any) map[string]map[string]any {
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
	have := liveConditions(map[string]any{"status": live})
	for kind, want := range liveConditions(map[string]any{"status": desired}) {
		if !(managedfields.Set{}).Agrees(have[kind], want) {
			return false
		}
	}
	return true
}
