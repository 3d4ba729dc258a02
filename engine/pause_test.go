package engine

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"reconcel/engine/access"
	"reconcel/rules"
)

// heard keeps the Events that the engine records.
type heard struct{ events []string }

func (h *heard) Record(_ corev1.ObjectReference, eventType, reason, _, note string) {
	h.events = append(h.events, eventType+" "+reason+": "+note)
}

// TestPauseWithoutEffectIsReported expects one Event for a mistyped annotation, and another
// one only if the mistake changes.
func TestPauseWithoutEffectIsReported(t *testing.T) {
	e, req := converged(t)
	told, log := &heard{}, &bytes.Buffer{}
	e.Events, e.Log = access.Recorder{EventRecorder: told}, slog.New(slog.NewTextHandler(log, nil))
	const misspelt = "Warning PauseIgnored: annotation reconcel.dev/pause has no meaning: the resource is not paused (did you mean reconcel.dev/paused?)"
	const unclear = `Warning PauseIgnored: annotation reconcel.dev/paused has the value "maybe", which is neither true nor false: the resource is not paused (write true)`
	var want []string
	for _, step := range []struct {
		annotations map[string]string
		tells       string
	}{
		{map[string]string{"reconcel.dev/pause": "true"}, misspelt},
		{map[string]string{"reconcel.dev/pause": "true"}, ""},
		{map[string]string{rules.AnnotationPaused: "maybe"}, unclear},
		{nil, ""},
		{map[string]string{rules.AnnotationPaused: "maybe"}, unclear},
	} {
		annotate(t, e, req, step.annotations)
		if _, err := e.Reconciler.Reconcile(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		if step.tells != "" {
			want = append(want, step.tells)
		}
		if !slices.Equal(told.events, want) {
			t.Fatalf("with %v the Events are %q, want %q", step.annotations, told.events, want)
		}
	}
	if n := strings.Count(log.String(), `level=WARN msg="pause ignored"`); n != 3 {
		t.Errorf("%d lines in the log:\n%s", n, log)
	}
}
