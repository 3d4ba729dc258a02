package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"reconcel/engine/discover"
	"reconcel/engine/managedfields"
	"reconcel/engine/watch"
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

// annotator writes the annotation as reconcel itself, like the status.
func (e *Engine) annotator() patcher {
	return patcher{&rules.Rule{}, managedfields.AnnotationManager(e.installation)}
}

// annotate writes the annotation if a rule asks for it, and otherwise removes it. It
// returns the outcome merged with the result of the write.
func (s *statusDraft) annotate(ctx context.Context) outcome {
	if s.list != discover.NoConditions || !s.asksForAnnotation() {
		return s.withdrawAnnotation(ctx, s.total)
	}
	by := s.engine.annotator()
	fields, err := annotationPatch(s.ready())
	if err != nil {
		return s.withWrite(s.total, err)
	}
	if missing, err := s.missingPatch(by, fields); missing == nil || s.gone {
		s.memory.unreported = time.Time{}
		return s.withWrite(s.total, err)
	}
	if s.total.state.moving() {
		if wait := s.unsettled(&s.memory.unreported); wait > 0 {
			return s.total.after(wait)
		}
	}
	s.memory.unreported = time.Time{}
	if _, err := s.ensurePatch(ctx, by, fields); err != nil {
		return s.withWrite(s.total, fmt.Errorf("write the annotation %s: %w", rules.AnnotationStatus, err))
	}
	return s.total
}

// asksForAnnotation reports whether a rule that manages the primary asks for the annotation.
func (p *pass) asksForAnnotation() bool {
	for i := range p.rendering.Rules {
		if r := &p.rendering.Rules[i]; r.Rule.Annotates && p.manages(r) {
			return true
		}
	}
	return false
}

// annotationPatch returns the patch that reports a condition.
func annotationPatch(ready rules.Condition) ([]byte, error) {
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

// withdrawAnnotation removes the annotation, unless it may be that of another installation.
func (p *pass) withdrawAnnotation(ctx context.Context, total outcome) outcome {
	if p.gone || !p.self.Patched() || p.refused() {
		return total
	}
	if err := p.unpatch(ctx, p.engine.annotator()); err != nil {
		return worse(total, p.outcomeOf(fmt.Errorf("remove the annotation %s: %w", rules.AnnotationStatus, err)))
	}
	return total
}

// removeAnnotation removes the annotation from a primary without a reconciliation.
func (e *Engine) removeAnnotation(ctx context.Context, k Kind, o *watch.Object) error {
	_, err := e.patchPrimary(ctx, nil, k, o, e.annotator(), map[string]any{})
	if errors.Is(err, errStale) {
		return nil // The primary is gone.
	}
	return err
}
