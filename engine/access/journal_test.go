package access

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/engine/events"
	"reconcel/engine/watch"
)

type longest struct{ reason, note int }

func (l *longest) Record(_ corev1.ObjectReference, _, reason, _, note string) {
	l.reason, l.note = len(reason), len(note)
}

// TestEventsAreBounded: the API server rejects an Event with a longer text. A condition may have one.
func TestEventsAreBounded(t *testing.T) {
	about := watch.NewObject(&unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "one"}}}, watch.Primary)
	var got longest
	Recorder{&got}.Warning(about, strings.Repeat("R", 1024), strings.Repeat("n", 4096))
	if want := (longest{events.LongestReason, events.LongestNote}); got != want {
		t.Errorf("recorded are %+v, want %+v", got, want)
	}
}
