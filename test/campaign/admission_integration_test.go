//go:build integration

package campaign

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"

	"reconcel/test/e2e"
)

// stripping names what admission removes from the objects of a run.
type stripping string

// strippedField is what a policy removes from which objects.
type strippedField struct {
	resource, operations string
	condition            string // in CEL: the object has the field
	path                 string // of the field, as a JSON pointer
}

var strippedFields = map[stripping]strippedField{
	"new-owners": {"configmaps", "CREATE", "has(object.metadata.ownerReferences)", "/metadata/ownerReferences"},
	"new-labels": {"configmaps", "CREATE",
		"has(object.metadata.labels) && 'reconcel.dev/rule' in object.metadata.labels", "/metadata/labels/reconcel.dev~1rule"},
	"new-annotations": {"configmaps", "CREATE",
		"has(object.metadata.annotations) && 'reconcel.dev/applied' in object.metadata.annotations", "/metadata/annotations/reconcel.dev~1applied"},
	"annotations": {"configmaps", "CREATE, UPDATE", "has(object.metadata.annotations)", "/metadata/annotations"},
	"finalizers":  {"boxes", "CREATE, UPDATE", "has(object.metadata.finalizers)", "/metadata/finalizers"},
}

// stripLabel is the label of a namespace whose objects a policy changes.
const stripLabel = "strips"

// policy returns a MutatingAdmissionPolicy for the namespaces that have the label.
func (s stripping) policy() string {
	of := strippedFields[s]
	return strings.NewReplacer("NAME", string(s), "LABEL", stripLabel, "OPERATIONS", of.operations, "RESOURCE", of.resource, "CONDITION", of.condition, "PATH", of.path).Replace(`
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: NAME}
spec:
  failurePolicy: Fail
  reinvocationPolicy: Never
  matchConstraints:
    namespaceSelector: {matchLabels: {LABEL: NAME}}
    resourceRules: [{apiGroups: ["*"], apiVersions: ["*"], operations: [OPERATIONS], resources: [RESOURCE]}]
  matchConditions: [{name: has, expression: "CONDITION"}]
  mutations: [{patchType: JSONPatch, jsonPatch: {expression: '[JSONPatch{op: "remove", path: "PATH"}]'}}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: NAME}
spec: {policyName: NAME}
`)
}

// servesPolicies reports whether this version of Kubernetes has MutatingAdmissionPolicies.
func (s *stage) servesPolicies(t *testing.T) bool {
	t.Helper()
	client, err := discovery.NewDiscoveryClientForConfig(s.cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	served, err := client.ServerResourcesForGroupVersion("admissionregistration.k8s.io/v1")
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(served.APIResources, func(r metav1.APIResource) bool { return r.Kind == "MutatingAdmissionPolicy" })
}

// strip lets admission remove something else, or nothing, and waits until it does.
func (r *faultRun) strip(next stripping) {
	r.Helper()
	if next == r.stripped {
		return
	}
	before := r.stripped
	r.stripped = next
	if _, known := strippedFields[next]; !known && next != "" {
		r.Fatalf("unknown stripping %q", next)
	}
	r.stage.strips.Do(func() {
		for s := range strippedFields {
			r.stage.world.Create(s.policy())
		}
	})
	r.world.Patch(e2e.GVK("v1", "Namespace"), r.namespace, fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, stripLabel, next))
	e2e.Poll(r.T, "admission to remove "+string(next), time.Minute, 20*time.Millisecond, func() error {
		switch {
		case next != "" && r.keeps(next):
			return errors.New("it does not")
		case next == "" && !r.keeps(before):
			return fmt.Errorf("%s is in force", before)
		}
		return nil
	})
}

// keeps reports whether a new object keeps what a stripping removes.
func (r *faultRun) keeps(s stripping) bool {
	r.Helper()
	kind := "apiVersion: v1, kind: ConfigMap"
	if strippedFields[s].resource == "boxes" {
		kind = "apiVersion: faults.reconcel.dev/v1, kind: Box"
	}
	probe := e2e.Parse(r.T, "{"+kind+`, metadata: {name: probe, labels: {reconcel.dev/rule: x}, annotations: {reconcel.dev/applied: x, x: x},
  finalizers: [example.com/probe], ownerReferences: [{apiVersion: v1, kind: Pod, name: x, uid: x}]}}`)[0]
	got, err := r.world.ResourceIn(probe.GroupVersionKind(), r.namespace).Create(r.Context(), probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		r.Fatal(err)
	}
	keys := strings.Split(strings.TrimPrefix(strippedFields[s].path, "/"), "/")
	for i, key := range keys {
		keys[i] = strings.ReplaceAll(key, "~1", "/")
	}
	_, found, err := unstructured.NestedFieldNoCopy(got.Object, keys...)
	return found && err == nil
}
