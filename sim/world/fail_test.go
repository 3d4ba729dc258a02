package world_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestFailedIsNotRetried lets an expression fail with a message until the resource changes.
func TestFailedIsNotRetried(t *testing.T) {
	w := load(t, `
apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: foo
  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo}
  children:
  - id: a
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: a}
      data: {n: '${self.spec.replicas < 5 ? string(self.spec.replicas) : fail("at most 4 replicas, got " + string(self.spec.replicas))}'}
`)
	put(t, w, "../../examples/foo/foo.yaml")
	settle(t, w)
	foo := w.Cluster().Client("someone").Resource(fooResource).Namespace("default")
	scale := func(body string) {
		t.Helper()
		if _, err := foo.Patch(t.Context(), "example-foo", types.MergePatchType, []byte(body), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		settle(t, w)
	}
	scale(`{"spec":{"replicas":7}}`)
	o := w.Cluster().Find(fooKind, "default", "example-foo")
	if got := condition(o, "Stalled"); got != "True Failed" {
		t.Errorf("Stalled is %q", got)
	}
	if got := message(o.Object, "Stalled"); !strings.HasPrefix(got, "at most 4 replicas, got 7 (rules.yaml:13:") {
		t.Errorf("the message is %q", got)
	}
	before := len(w.Writes())
	advance(t, w, 24*time.Hour)
	if more := w.Writes()[before:]; len(more) > 0 {
		t.Errorf("written while nothing has changed: %v", more)
	}
	scale(`{"spec":{"replicas":4}}`)
	if got := ready(w); !strings.HasPrefix(got, "True Reconciled") {
		t.Errorf("after the correction it is %q", got)
	}
}
