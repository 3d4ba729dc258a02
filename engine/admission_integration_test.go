//go:build integration

package engine_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"reconcel/test/e2e"
)

// stripping is a policy that removes a field in a namespace.
const stripping = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: NAMESPACE}
spec:
  failurePolicy: Fail
  reinvocationPolicy: Never
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NAMESPACE}}
    resourceRules: [{apiGroups: ["*"], apiVersions: ["*"], operations: [OPERATIONS], resources: [configmaps, widgets]}]
  matchConditions: [{name: has, expression: 'CONDITION'}]
  mutations: [{patchType: JSONPatch, jsonPatch: {expression: '[JSONPatch{op: "remove", path: "PATH"}]'}}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: NAMESPACE}
spec: {policyName: NAMESPACE}
`

// marked is a ConfigMap with everything that the policies of the tests remove.
const marked = `{apiVersion: v1, kind: ConfigMap, metadata: {name: probe, labels: {reconcel.dev/rule: x}, annotations: {reconcel.dev/applied: x},
  finalizers: [example.com/probe], ownerReferences: [{apiVersion: v1, kind: Pod, name: x, uid: x}]}}`

// A strip is what a policy removes.
type strip struct{ path, condition, operations string }

var (
	stripsOwner       = strip{"/metadata/ownerReferences", "has(object.metadata.ownerReferences)", "CREATE, UPDATE"}
	stripsHash        = strip{"/metadata/annotations/reconcel.dev~1applied", `has(object.metadata.annotations) && "reconcel.dev/applied" in object.metadata.annotations`, "CREATE, UPDATE"}
	stripsLabel       = strip{"/metadata/labels/reconcel.dev~1rule", `has(object.metadata.labels) && "reconcel.dev/rule" in object.metadata.labels`, "CREATE, UPDATE"}
	stripsAnnotations = strip{"/metadata/annotations", "has(object.metadata.annotations)", "CREATE, UPDATE"}
	stripsFinalizers  = strip{"/metadata/finalizers", "has(object.metadata.finalizers)", "CREATE, UPDATE"}
)

// strips installs a policy, waits until it is in force, and returns how to remove it.
func (w *world) strips(s strip) (lift func()) {
	w.Helper()
	client, err := discovery.NewDiscoveryClientForConfig(w.Cluster.Config())
	if err != nil {
		w.Fatal(err)
	}
	served, err := client.ServerResourcesForGroupVersion("admissionregistration.k8s.io/v1")
	if err != nil {
		w.Fatal(err)
	}
	if !containsKind(served, "MutatingAdmissionPolicy") {
		w.Skip("this version of Kubernetes has no MutatingAdmissionPolicy")
	}
	text := strings.NewReplacer("OPERATIONS", s.operations, "CONDITION", strings.ReplaceAll(s.condition, "'", "''"), "PATH", s.path).Replace(stripping)
	w.Create(w.Fill(text))
	remove := sync.OnceFunc(func() {
		for _, resource := range []string{"mutatingadmissionpolicies", "mutatingadmissionpolicybindings"} {
			gvr := schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: resource}
			if err := w.Client.Resource(gvr).Delete(context.Background(), w.Namespace, deleteNow); err != nil {
				w.Error(err)
			}
		}
	})
	w.Cleanup(remove)
	w.Eventually("the policy to be in force", func() error {
		if w.probe(s) {
			return errors.New("the field stays")
		}
		return nil
	})
	return func() {
		remove()
		w.Eventually("the policy to be gone", func() error {
			if !w.probe(s) {
				return errors.New("the field is removed")
			}
			return nil
		})
	}
}

func containsKind(list *metav1.APIResourceList, kind string) bool {
	for _, r := range list.APIResources {
		if r.Kind == kind {
			return true
		}
	}
	return false
}

// probe reports whether an object keeps what a policy removes.
func (w *world) probe(s strip) bool {
	w.Helper()
	u, err := w.Resource(configs).Create(context.Background(), e2e.Parse(w.T, marked)[0], metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		w.Fatal(err)
	}
	keys := strings.Split(strings.TrimPrefix(s.path, "/"), "/")
	for i, key := range keys {
		keys[i] = strings.ReplaceAll(key, "~1", "/")
	}
	_, found, err := unstructured.NestedFieldNoCopy(u.Object, keys...)
	return found && err == nil
}

// TestAdmissionStripsMarks installs policies that remove what reconcel recognises its objects by. The primary says so
// instead of waiting, reconcel does not write again and again, and goes on when the policy is gone.
func TestAdmissionStripsMarks(t *testing.T) {
	for name, c := range map[string]struct {
		strip strip
		lost  string
	}{
		"owner":       {stripsOwner, "metadata.ownerReferences"},
		"hash":        {stripsHash, "the annotation reconcel.dev/applied"},
		"label":       {stripsLabel, "the label reconcel.dev/rule"},
		"annotations": {stripsAnnotations, "the annotation reconcel.dev/applied"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.CRD(widgetCRD)
			lift := w.strips(c.strip)
			in := w.run(widgetRules("", configMapChild("a", "${self.metadata.name}-a")))
			w.Create(widget("one", "value: first"))
			cause := "an admission policy or webhook removed or changed " + c.lost
			w.saysOf(widgets, "Stalled", "Rejected", cause)
			w.Eventually("an Event", func() error {
				if !w.HasNote("Widget", "one", cause) {
					return errors.New("the ConfigMap does not exist")
				}
				return nil
			})
			w.logs(in, `level=WARN msg="resource stalled"`)
			from := time.Now()
			w.Rest(5 * time.Second)
			w.wrote(from, time.Now(), 4)
			lift()
			w.Patch(widgets, "one", `{"spec":{"value":"second"}}`)
			w.Has(configs, "one-a", map[string]any{"data.value": "second"})
			w.says(widgets, "one", "Ready", "True", "")
			w.belongs(configs, "one-a", w.Get(widgets, "one"))
		})
	}
}

// TestAdmissionStripsOnlyAtCreation has policies for creations alone: reconcel restores at once what they removed, and
// reports nothing.
func TestAdmissionStripsOnlyAtCreation(t *testing.T) {
	for name, s := range map[string]strip{"owner": stripsOwner, "hash": stripsHash, "label": stripsLabel, "annotations": stripsAnnotations} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.CRD(widgetCRD)
			s.operations = "CREATE"
			w.strips(s)
			w.run(widgetRules("", configMapChild("a", "${self.metadata.name}-a")))
			primary := w.Create(widget("one", "value: first"))
			w.says(widgets, "one", "Ready", "True", "")
			w.belongs(configs, "one-a", primary)
			if found := w.EventReasons("Widget", "one"); slices.Contains(found, "Rejected") {
				t.Errorf("the Events are %v", found)
			}
		})
	}
}

// TestAdmissionStripsFinalizer removes the finalizer of a primary at each write. Nothing is created that a deletion of
// the primary would leave behind.
func TestAdmissionStripsFinalizer(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	lift := w.strips(stripsFinalizers)
	source, namespace := w.acrossScopes("")
	w.run(source)
	w.Create(widget("one", "value: first"))
	w.saysOf(widgets, "Stalled", "Rejected", "an admission policy or webhook removed or changed the finalizer reconcel.dev/widget-"+w.Namespace)
	w.in(namespace).Lacks(configs, "one-far")
	lift()
	w.Patch(widgets, "one", `{"spec":{"value":"second"}}`)
	w.in(namespace).Has(configs, "one-far", map[string]any{"data.value": "second"})
	w.says(widgets, "one", "Ready", "True", "")
	w.deleteWith(widgets, "one", metav1.DeletePropagationBackground)
	w.gone(widgets, "one")
}
