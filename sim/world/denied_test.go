package world_test

import (
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"reconcel/sim"
	"reconcel/sim/world"
)

// TestDenied denies writes for a while, as a restarted API server does. An Event reports
// that only if it lasts.
func TestDenied(t *testing.T) {
	for name, test := range map[string]struct {
		times   int
		after   time.Duration
		want    string
		tellsOf bool
	}{
		"for a moment":   {2, 12 * time.Second, "False Progressing", false},
		"still at first": {1000, 10 * time.Second, "False Retrying", false},
		"for good":       {1000, time.Minute, "False Forbidden", true},
	} {
		t.Run(name, func(t *testing.T) {
			w := fooWorld(t)
			if err := w.Advance(t.Context(), time.Minute); err != nil {
				t.Fatal(err)
			}
			w.Cluster().Fail(sim.Failure{By: world.Controller, Verb: "apply", Kind: deploymentKind.GroupKind(), Times: test.times,
				Err: apierrors.NewForbidden(schema.GroupResource{Group: "apps", Resource: "deployments"}, "example-foo",
					errors.New(`User "reconcel" cannot patch resource "deployments" in API group "apps" in the namespace "default"`))})
			foos := w.Cluster().Client("someone").Resource(fooKind.WithVersion("v1alpha1").GroupVersion().WithResource("foos")).Namespace("default")
			if _, err := foos.Patch(t.Context(), "example-foo", types.MergePatchType, []byte(`{"spec":{"replicas":3}}`), metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
			if err := w.Advance(t.Context(), test.after); err != nil {
				t.Fatal(err)
			}
			if got := condition(w.Cluster().Find(fooKind, "default", "example-foo"), "Ready"); got != test.want {
				t.Errorf("Ready is %q, want %q", got, test.want)
			}
			told := false
			for _, e := range w.Cluster().Events() {
				told = told || e.Reason == "Forbidden"
			}
			if told != test.tellsOf {
				t.Errorf("an Event tells of it: %v", told)
			}
		})
	}
}
