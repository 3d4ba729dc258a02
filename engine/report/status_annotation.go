package report

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"reconcel/engine/discover"
	"reconcel/engine/outcome"
	"reconcel/rules"
)

// This file writes rules.AnnotationStatus, which reports the state of primaries whose kinds
// have no conditions. Rules do not see it on their primaries, so that a report never
// changes what they render.

// A StatusAnnotation is the value of rules.AnnotationStatus. It has no time, so that it is
// written only when the state changes.
type StatusAnnotation struct {
	Ready   rules.ConditionStatus `json:"ready"`
	Reason  string                `json:"reason"`
	Message string                `json:"message"`
}

// annotate writes the annotation if a rule asks for it, and otherwise removes it. It
// returns the outcome merged with the result of the write.
func (s *StatusDraft) annotate(ctx context.Context) outcome.Outcome {
	if s.list != discover.NoConditions || !s.asksForAnnotation() {
		return s.patches.WithdrawAnnotation(ctx, s.total)
	}
	by := s.Cluster.Annotator()
	fields, err := AnnotationPatch(s.Ready())
	if err != nil {
		return s.withWrite(s.total, err)
	}
	if missing, err := s.patches.MissingPatch(by, fields); missing == nil || s.Gone {
		s.Memory.Unreported = time.Time{}
		return s.withWrite(s.total, err)
	}
	if s.total.State.Moving() {
		if wait := s.unsettled(&s.Memory.Unreported); wait > 0 {
			return s.total.After(wait)
		}
	}
	s.Memory.Unreported = time.Time{}
	if _, err := s.patches.EnsurePatch(ctx, by, fields); err != nil {
		return s.withWrite(s.total, fmt.Errorf("write the annotation %s: %w", rules.AnnotationStatus, err))
	}
	return s.total
}

// asksForAnnotation reports whether a rule that manages the primary asks for the annotation.
func (s *StatusDraft) asksForAnnotation() bool {
	for i := range s.Rendering.Rules {
		if r := &s.Rendering.Rules[i]; r.Rule.Annotates && s.view.Manages(r) {
			return true
		}
	}
	return false
}

// AnnotationPatch returns the patch that reports a condition.
func AnnotationPatch(ready rules.Condition) ([]byte, error) {
	var value bytes.Buffer
	write := json.NewEncoder(&value)
	write.SetEscapeHTML(false) // People read it.
	err := write.Encode(StatusAnnotation{ready.Status, ready.Reason, ready.Message})
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{
		rules.AnnotationStatus: strings.TrimSuffix(value.String(), "\n"),
	}}})
}
