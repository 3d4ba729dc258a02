package world_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"reconcel/rules"
	"reconcel/sim/world"
)

// TestDoneOutlivesTheFinalizer has a rule that needs its finalizer for a while. What it has done before is not done again
// when the finalizer is gone.
func TestDoneOutlivesTheFinalizer(t *testing.T) {
	once := strings.Replace(configMap("a"), "    template", "    onChange: once\n    template", 1)
	far := strings.Replace(configMap("b"), "metadata: {", "metadata: {namespace: far, ", 1)
	far = strings.Replace(far, "    template", "    when: self.spec.replicas > 1\n    template", 1)
	w := load(t, "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n"+fooRule("one", "  allow: {namespaces: [far]}\n", once, far))
	namespace := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "far"}}}
	if _, err := w.Cluster().Put(namespace); err != nil {
		t.Fatal(err)
	}
	put(t, w, "../../examples/foo/foo.yaml")
	merge(t, w, []byte(`{"spec":{"replicas":2}}`))
	foo := func() *unstructured.Unstructured { return w.Cluster().Find(fooKind, "default", "example-foo") }
	if foo().GetAnnotations()[rules.DonePrefix+"one"] == "" || len(foo().GetFinalizers()) == 0 {
		t.Fatalf("the Foo has the finalizers %q and the annotations %q", foo().GetFinalizers(), foo().GetAnnotations())
	}
	configs := w.Cluster().Client("someone").Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace("default")
	if err := configs.Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	settle(t, w)
	merge(t, w, []byte(`{"spec":{"replicas":1}}`))
	if len(foo().GetFinalizers()) > 0 {
		t.Fatalf("the Foo still has the finalizers %q", foo().GetFinalizers())
	}
	if err := w.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	settle(t, w)
	if got := configMaps(w); got != "" {
		t.Errorf("there are %q: what was done is done again", got)
	}
}

// job is a child with a Job, which is read by the status.
const job = `  - id: job
    template:
      apiVersion: batch/v1
      kind: Job
      metadata: {name: job}
      spec: {ttlSecondsAfterFinished: 600, template: {spec: {restartPolicy: Never, containers: [{name: main, image: busybox}]}}}
`

// TestDoneInOtherCircumstances changes what is around something that is done.
func TestDoneInOtherCircumstances(t *testing.T) {
	once := strings.Replace(configMap("a"), "    template", "    onChange: once\n    template", 1)
	sized := strings.Replace(once, "metadata: {name: 'a'}", "metadata: {name: 'a'}, data: {v: '${string(self.spec.replicas)}'}", 1)
	lasting := strings.Replace(job, "ttlSecondsAfterFinished: 600, ", "", 1)
	configs := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	jobs := schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}
	for _, test := range []struct {
		name  string
		rule  string
		steps func(*doneStage)
	}{
		{"the child has another id", fooRule("one", "", once), func(s *doneStage) {
			s.delete(configs, "a")
			s.reload(fooRule("one", "", strings.Replace(once, "id: ca", "id: other", 1)))
			s.lacks(configs, "a")
		}},
		{"the rendering goes back while the object is being deleted", fooRule("one", "", sized), func(s *doneStage) {
			s.patch(configs, "a", `{"metadata":{"finalizers":["x.dev/hold"]}}`)
			s.merge(`{"spec":{"replicas":2}}`)
			s.merge(`{"spec":{"replicas":1}}`)
			s.patch(configs, "a", `{"metadata":{"finalizers":null}}`)
			s.has(configs, "a")
		}},
		{"the child leaves the rule and comes back", fooRule("one", "", once), func(s *doneStage) {
			s.reload(fooRule("one", "", configMap("b")))
			s.lacks(configs, "a")
			s.reload(fooRule("one", "", once))
			s.has(configs, "a")
		}},
		{"integers of what is gone stay integers", fooRule("one", "  status: {availableReplicas: '${job.status.succeeded / 2}'}\n", job), func(s *doneStage) {
			s.ends("Complete", `"succeeded":3`)
			s.delete(jobs, "job")
			s.lacks(jobs, "job")
			if got := s.foo()["status"].(map[string]any)["availableReplicas"]; got != int64(1) {
				s.Errorf("availableReplicas is %v", got)
			}
		}},
		{"a Job without a TTL failed, and is asked for again", fooRule("one", "", lasting), func(s *doneStage) {
			s.ends("Failed", `"failed":1`)
			first := s.has(jobs, "job")
			s.merge(`{"metadata":{"annotations":{"reconcel.dev/run-again":"now"}}}`)
			if s.has(jobs, "job").GetUID() == first.GetUID() {
				s.Error("the Job is the same")
			}
		}},
		{"a Job without a TTL failed, and is deleted", fooRule("one", "", lasting), func(s *doneStage) {
			s.ends("Failed", `"failed":1`)
			s.delete(jobs, "job")
			s.has(jobs, "job")
		}},
		{"a retried Job is deleted before it ends", fooRule("one", "", job), func(s *doneStage) {
			s.ends("Failed", `"failed":1`)
			s.delete(jobs, "job")
			s.has(jobs, "job")
			s.advance(20 * time.Minute)
			s.delete(jobs, "job")
			s.has(jobs, "job")
		}},
		{"the ConfigMap of a rule for the cluster loses its label, and is deleted", strings.Replace(strings.Replace(fooRule("one", "", job), "for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo}", "for: cluster\n  allow: {namespaces: [default]}", 1), "name: job", "name: job, namespace: default", 1), func(s *doneStage) {
			bundles := s.w.Cluster().Client("someone").Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace("kube-system")
			s.ends("Complete", `"succeeded":1`)
			s.advance(20 * time.Minute)
			s.lacks(jobs, "job")
			for _, lose := range []func() error{
				func() error {
					_, err := bundles.Patch(s.Context(), "reconcel-bundle-one", types.MergePatchType, []byte(`{"metadata":{"labels":null}}`), metav1.PatchOptions{})
					return err
				},
				func() error { return bundles.Delete(s.Context(), "reconcel-bundle-one", metav1.DeleteOptions{}) },
				func() error {
					_, err := bundles.Patch(s.Context(), "reconcel-bundle-one", types.MergePatchType, []byte(`{"metadata":{"labels":null}}`), metav1.PatchOptions{})
					again(s.T, s.w) // It has not seen the ConfigMap with its label.
					return err
				},
			} {
				if err := lose(); err != nil {
					s.Fatal(err)
				}
				s.advance(20 * time.Minute)
				again(s.T, s.w)
				s.lacks(jobs, "job")
			}
		}},
		{"a Job that failed is deleted by its TTL", fooRule("one", "", job), func(s *doneStage) {
			s.ends("Failed", `"failed":1`)
			s.advance(20 * time.Minute)
			s.lacks(jobs, "job")
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := &doneStage{t, begin(t, test.rule)}
			test.steps(s)
		})
	}
}

type doneStage struct {
	*testing.T
	w *world.World
}

func (s *doneStage) of(r schema.GroupVersionResource) dynamic.ResourceInterface {
	return s.w.Cluster().Client("someone").Resource(r).Namespace("default")
}

func (s *doneStage) foo() map[string]any {
	return s.w.Cluster().Find(fooKind, "default", "example-foo").Object
}

func (s *doneStage) merge(body string) { s.Helper(); merge(s.T, s.w, []byte(body)) }

func (s *doneStage) reload(rule string) { s.Helper(); reload(s.T, s.w, rule); s.advance(time.Minute) }

func (s *doneStage) advance(d time.Duration) {
	s.Helper()
	if err := s.w.Advance(s.Context(), d); err != nil {
		s.Fatal(err)
	}
}

func (s *doneStage) delete(r schema.GroupVersionResource, name string) {
	s.Helper()
	policy := metav1.DeletePropagationBackground
	if err := s.of(r).Delete(s.Context(), name, metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
		s.Fatal(err)
	}
	s.advance(time.Minute)
}

func (s *doneStage) patch(r schema.GroupVersionResource, name, body string, subresources ...string) {
	s.Helper()
	if _, err := s.of(r).Patch(s.Context(), name, types.MergePatchType, []byte(body), metav1.PatchOptions{}, subresources...); err != nil {
		s.Fatal(err)
	}
	s.advance(time.Minute)
}

// ends finishes the Job.
func (s *doneStage) ends(condition, counts string) {
	s.Helper()
	now := s.w.Now().UTC().Format(time.RFC3339)
	s.patch(schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}, "job",
		fmt.Sprintf(`{"status":{%s,"conditions":[{"type":%q,"status":"True","lastTransitionTime":%q}]}}`, counts, condition, now), "status")
}

func (s *doneStage) has(r schema.GroupVersionResource, name string) *unstructured.Unstructured {
	s.Helper()
	u, err := s.of(r).Get(s.Context(), name, metav1.GetOptions{})
	if err != nil {
		s.Fatalf("%v; the Foo is %v", err, s.foo())
	}
	return u
}

func (s *doneStage) lacks(r schema.GroupVersionResource, name string) {
	s.Helper()
	if u, err := s.of(r).Get(s.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		s.Fatalf("there is %v (%v); the Foo is %v", u, err, s.foo())
	}
}
