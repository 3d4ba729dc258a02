package access

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/engine/watch"
)

// TestMetadataVersion: only what others set lets a rejected write be sent again.
func TestMetadataVersion(t *testing.T) {
	version := func(annotations map[string]any) string {
		u := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "one", "annotations": annotations}}}
		return (&Subject{Self: watch.NewObject(u, watch.Primary)}).MetadataVersion()
	}
	first := version(map[string]any{"team": "a"})
	for _, own := range []string{"reconcel.dev/paused", "done.reconcel.dev/widget", "share.reconcel.dev/u1", "finalized.reconcel.dev/widget"} {
		if got := version(map[string]any{"team": "a", own: "x"}); got != first {
			t.Errorf("%s changes it: %s, was %s", own, got, first)
		}
	}
	if got := version(map[string]any{"team": "b"}); got == first {
		t.Error("an annotation of others does not change it")
	}
}
