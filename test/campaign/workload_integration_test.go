//go:build integration

package campaign

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"

	"reconcel/test/e2e"
	"reconcel/test/oracle"
)

// workload is rules, and what happens to their primaries. Its texts contain NAMESPACE,
// the namespace of the run; NAMESPACES, which the rules are for; and RULE, the prefix of
// their names.
type workload struct {
	Rules     string           `json:"rules"`
	Setup     []map[string]any `json:"setup"`     // objects that exist before
	Foreign   []map[string]any `json:"foreign"`   // objects that must never change
	Generated []string         `json:"generated"` // prefixes of generated names
	Values    []string         `json:"values"`    // keys of Secrets with generated values
	Order     []oracle.Order   `json:"order"`     // of deletions
	Group     string           `json:"group"`     // of a kind Cart that only this run has, if any
	Steps     []step           `json:"steps"`

	name string
}

// step is one operation, and what is around it.
type step struct {
	Strips       stripping `json:"strips"`       // what admission removes from the operation on, until the next step
	DropsVersion bool      `json:"dropsVersion"` // before the operation, Cart loses version v1

	// The operation is one of these.
	Apply  map[string]any `json:"apply"`
	Patch  *target        `json:"patch"`
	Delete *target        `json:"delete"`
	Rules  string         `json:"rules"`  // replaces the rules
	GitOps map[string]any `json:"gitops"` // is applied by force, and again and again from now on
}

// target is an object, in the namespace of the run by default.
type target struct {
	Kind      string         `json:"kind"`
	Namespace string         `json:"namespace"`
	Name      string         `json:"name"`
	Merge     map[string]any `json:"merge"` // of a patch
}

// reloads reports whether a step replaces the rules, so that the workload needs a process
// of its own.
func (w workload) reloads() bool {
	for _, s := range w.Steps {
		if s.Rules != "" {
			return true
		}
	}
	return false
}

// strips reports whether admission removes something in a step.
func (w workload) strips() bool {
	return slices.ContainsFunc(w.Steps, func(s step) bool { return s.Strips != "" })
}

const workloads = "testdata/workloads"

func readWorkload(t *testing.T, name string) workload {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(workloads, name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	w := workload{name: name}
	if err := yaml.UnmarshalStrict(text, &w); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return w
}

// workloadNames returns the names of all workloads.
func workloadNames(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(workloads, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(file), ".yaml"))
	}
	return names
}

// faultKinds are the kinds of the workloads.
var faultKinds = map[string]schema.GroupVersionKind{
	"Box":        e2e.GVK("faults.reconcel.dev/v1", "Box"),
	"Bin":        e2e.GVK("faults.reconcel.dev/v1", "Bin"),
	"Crate":      e2e.GVK("faults.reconcel.dev/v1", "Crate"),
	"ConfigMap":  e2e.ConfigMap,
	"Secret":     e2e.GVK("v1", "Secret"),
	"Service":    e2e.GVK("v1", "Service"),
	"Deployment": e2e.Deployment,
	"Job":        e2e.GVK("batch/v1", "Job"),
}

// observedResources are the resources of faultKinds.
var observedResources = []schema.GroupVersionResource{
	{Group: "faults.reconcel.dev", Version: "v1", Resource: "boxes"},
	{Group: "faults.reconcel.dev", Version: "v1", Resource: "bins"},
	{Group: "faults.reconcel.dev", Version: "v1", Resource: "crates"},
	configMaps,
	{Version: "v1", Resource: "secrets"},
	{Version: "v1", Resource: "services"},
	{Group: "apps", Version: "v1", Resource: "deployments"},
	{Group: "batch", Version: "v1", Resource: "jobs"},
}

// faultCRD is a CRD of the workloads.
func faultCRD(kind, plural, scope string) string {
	return strings.NewReplacer("KIND", kind, "PLURAL", plural, "SCOPE", scope).Replace(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: PLURAL.faults.reconcel.dev}
spec:
  group: faults.reconcel.dev
  names: {kind: KIND, plural: PLURAL}
  scope: SCOPE
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, x-kubernetes-preserve-unknown-fields: true}
          status:
            type: object
            x-kubernetes-preserve-unknown-fields: true
            properties:
              conditions:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [type]
                items:
                  type: object
                  required: [type, status, lastTransitionTime, reason, message]
                  properties:
                    type: {type: string}
                    status: {type: string}
                    observedGeneration: {type: integer, format: int64}
                    lastTransitionTime: {type: string, format: date-time}
                    reason: {type: string}
                    message: {type: string}
`)
}

// create creates an object of a workload.
func (r *faultRun) create(object map[string]any) {
	r.Helper()
	u := &unstructured.Unstructured{Object: r.fill(object).(map[string]any)}
	namespace := u.GetNamespace()
	if namespace == "" {
		namespace = r.namespace
	}
	created, err := r.world.ResourceIn(u.GroupVersionKind(), namespace).Create(r.Context(), u, metav1.CreateOptions{FieldManager: e2e.FieldManager})
	if err != nil {
		r.Fatalf("create %s %s: %v", u.GetKind(), u.GetName(), err)
	}
	if u.GetKind() == "Namespace" {
		r.Cleanup(func() {
			err := r.world.Resource(u.GroupVersionKind()).Delete(context.Background(), u.GetName(), metav1.DeleteOptions{})
			if err != nil {
				r.Errorf("clean up: %v", err)
			}
		})
	}
	r.awaitVersion(created)
}

// fill replaces NAMESPACE in the texts of a value.
func (r *faultRun) fill(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(value))
		for key, v := range value {
			out[key] = r.fill(v)
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, v := range value {
			out[i] = r.fill(v)
		}
		return out
	case string:
		return r.placeholders.Replace(value)
	case float64:
		return int64(value)
	default:
		return value
	}
}
