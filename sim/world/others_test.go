package world_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"reconcel/sim/world"
)

// mutated is a cluster in which another writer changes each object that the controller has written, before the controller gets the
// answer, as a mutating webhook does.
type mutated struct {
	dynamic.Interface
	resource string
	change   func(*unstructured.Unstructured)
	as       dynamic.Interface
}

func (m *mutated) Resource(gvr schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return mutatedKind{m.Interface.Resource(gvr), gvr, m}
}

type mutatedKind struct {
	dynamic.NamespaceableResourceInterface
	gvr schema.GroupVersionResource
	of  *mutated
}

func (k mutatedKind) Namespace(name string) dynamic.ResourceInterface {
	return mutatedObjects{k.NamespaceableResourceInterface.Namespace(name), k.gvr, name, k.of}
}

type mutatedObjects struct {
	dynamic.ResourceInterface
	gvr       schema.GroupVersionResource
	namespace string
	of        *mutated
}

func (o mutatedObjects) Patch(ctx context.Context, name string, t types.PatchType, body []byte, options metav1.PatchOptions, subresources ...string) (*unstructured.Unstructured, error) {
	answer, err := o.ResourceInterface.Patch(ctx, name, t, body, options, subresources...)
	if err != nil || o.gvr.Resource != o.of.resource || o.namespace == "kube-system" {
		return answer, err
	}
	o.of.change(answer)
	return o.of.as.Resource(o.gvr).Namespace(o.namespace).Update(ctx, answer, metav1.UpdateOptions{}, subresources...)
}

const othersRules = `
apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: foo
  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo}
  teardown: ordered
  allow: {namespaces: [kube-public]}
  children:
  - id: a
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {replicas: "${string(self.spec.replicas)}"}}
  - id: far
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: far, namespace: kube-public}, data: {replicas: "${string(self.spec.replicas)}"}}
  - id: many
    replicas: "2"
    template: {apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {generateName: many-}, spec: {holderIdentity: x}}
  patch: {metadata: {labels: {replicas: "${string(self.spec.replicas)}"}}}
  status: {availableReplicas: "${self.spec.replicas}"}
`

// TestAllTakenNamesAreTold has two names that others have taken.
func TestAllTakenNamesAreTold(t *testing.T) {
	w := load(t, othersRules)
	for _, namespace := range []string{"default", "kube-public"} {
		u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
		u.SetNamespace(namespace)
		u.SetName(map[string]string{"default": "a", "kube-public": "far"}[namespace])
		if _, err := w.Cluster().Put(u); err != nil {
			t.Fatal(err)
		}
	}
	put(t, w, "../../examples/foo/foo.yaml")
	settle(t, w)
	for _, name := range []string{`child "a": ConfigMap/default/a already exists`, `child "far": ConfigMap/kube-public/far already exists`} {
		if got := ready(w); !strings.HasPrefix(got, "False ErrResourceExists: ") || !strings.Contains(got, name) {
			t.Errorf("Ready is %s, without %s", got, name)
		}
	}
}

// TestWebhooksThatMutate has a webhook take away what reconcel needs on what it writes, or add something to it. reconcel writes an
// object no more than six times a minute, and says so.
func TestWebhooksThatMutate(t *testing.T) {
	remove := func(path ...string) func(*unstructured.Unstructured) {
		return func(u *unstructured.Unstructured) { unstructured.RemoveNestedField(u.Object, path...) }
	}
	n := 0
	for name, c := range map[string]struct {
		resource string
		change   func(*unstructured.Unstructured)
		ready    bool
	}{
		"strips managedFields of children":     {"configmaps", func(u *unstructured.Unstructured) { u.SetManagedFields([]metav1.ManagedFieldsEntry{{}}) }, false},
		"strips managedFields of replicas":     {"leases", func(u *unstructured.Unstructured) { u.SetManagedFields([]metav1.ManagedFieldsEntry{{}}) }, false},
		"strips managedFields of the resource": {"foos", func(u *unstructured.Unstructured) { u.SetManagedFields([]metav1.ManagedFieldsEntry{{}}) }, true},
		"stamps children": {"configmaps", func(u *unstructured.Unstructured) {
			n++
			u.SetAnnotations(merged(u.GetAnnotations(), "stamp", fmt.Sprint(n)))
		}, true},
		"stamps the resource": {"foos", func(u *unstructured.Unstructured) {
			n++
			u.SetAnnotations(merged(u.GetAnnotations(), "stamp", fmt.Sprint(n)))
		}, true},
		"strips labels of children":         {"configmaps", remove("metadata", "labels"), false},
		"strips annotations of children":    {"configmaps", remove("metadata", "annotations"), false},
		"strips finalizers of the resource": {"foos", remove("metadata", "finalizers"), false},
		"strips labels of children, and stamps": {"configmaps", func(u *unstructured.Unstructured) {
			n++
			u.SetLabels(nil)
			u.SetAnnotations(merged(u.GetAnnotations(), "stamp", fmt.Sprint(n)))
		}, false},
		"strips annotations of children, and stamps": {"configmaps", func(u *unstructured.Unstructured) {
			n++
			u.SetAnnotations(map[string]string{"stamp": fmt.Sprint(n)})
		}, false},
		"removes conditions": {"foos", remove("status", "conditions"), false},
	} {
		t.Run(name, func(t *testing.T) {
			w := loadWith(t, othersRules, world.Options{Log: slog.New(slog.DiscardHandler)})
			m := &mutated{resource: c.resource, change: c.change, as: w.Cluster().Client("webhook")}
			w.Wrap(func(c dynamic.Interface) dynamic.Interface { m.Interface = c; return m })
			if err := w.Restart(t.Context()); err != nil {
				t.Fatal(err)
			}
			put(t, w, "../../examples/foo/foo.yaml")
			for range 30 {
				if err := w.Advance(t.Context(), 20*time.Second); err != nil {
					t.Fatal(err)
				}
			}
			before := len(w.Writes())
			for range 60 {
				advance(t, w, 10*time.Second)
			}
			if writes := len(w.Writes()) - before; writes > 120 {
				t.Errorf("%d writes in ten minutes", writes)
			}
			if got := ready(w); strings.HasPrefix(got, "True") != c.ready {
				t.Errorf("Ready is %s", got)
			}
		})
	}
}

func merged(m map[string]string, key, value string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	return m
}

// TestGitOpsToolThatReplaces has a tool replace the resource and one of its objects with what is in Git every 30 seconds, as kubectl replace
// does: without finalizers, labels, annotations, owner references and managedFields. Then the resource is deleted, and all objects go.
func TestGitOpsToolThatReplaces(t *testing.T) {
	w := load(t, othersRules)
	put(t, w, "../../examples/foo/foo.yaml")
	settle(t, w)
	tool := w.Cluster().Client("gitops")
	replace := func(resource schema.GroupVersionResource, namespace, name string) {
		t.Helper()
		live, err := tool.Resource(resource).Namespace(namespace).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		live.Object["metadata"] = map[string]any{"name": name, "namespace": namespace, "resourceVersion": live.GetResourceVersion(),
			"uid": string(live.GetUID()), "managedFields": []any{map[string]any{}}}
		if _, err := tool.Resource(resource).Namespace(namespace).Update(t.Context(), live, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	before := 0
	for i := range 40 {
		if i == 20 {
			before = len(w.Writes())
		}
		replace(fooResource, "default", "example-foo")
		replace(configMapResource, "default", "a")
		replace(configMapResource, "kube-public", "far")
		advance(t, w, 30*time.Second)
	}
	if writes := len(w.Writes()) - before; writes > 20*8 {
		t.Errorf("%d writes in ten minutes", writes)
	}
	if err := tool.Resource(fooResource).Namespace("default").Delete(t.Context(), "example-foo", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	advance(t, w, 5*time.Minute)
	for _, o := range w.Objects() {
		if o.GetKind() != "CustomResourceDefinition" && !strings.Contains(o.GetName(), "kube-root") {
			t.Errorf("%s %s/%s stays: %v %v", o.GetKind(), o.GetNamespace(), o.GetName(), o.GetAnnotations(), o.GetFinalizers())
		}
	}
}

// TestRestoreFromABackup deletes everything and creates it again with new UIDs, as a restore does: with labels, annotations, finalizers,
// owner references and status of the backup, in either order, while reconcel runs or not. Nothing is lost, and the condition tells what stays.
func TestRestoreFromABackup(t *testing.T) {
	for _, first := range []string{"Foo", "ConfigMap"} {
		for _, restart := range []bool{false, true} {
			for _, references := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s first, restart %t, references %t", first, restart, references), func(t *testing.T) {
					w := load(t, othersRules)
					put(t, w, "../../examples/foo/foo.yaml")
					settle(t, w)
					former := w.Cluster().Find(fooKind, "default", "example-foo").GetUID()
					var backup []*unstructured.Unstructured
					for _, o := range w.Objects() {
						if o.GetKind() == first {
							backup = append([]*unstructured.Unstructured{o.DeepCopy()}, backup...)
						} else if o.GetKind() != "CustomResourceDefinition" {
							backup = append(backup, o.DeepCopy())
						}
					}
					if err := w.Cluster().Client("someone").Resource(fooResource).Namespace("default").Delete(t.Context(), "example-foo", metav1.DeleteOptions{}); err != nil {
						t.Fatal(err)
					}
					advance(t, w, time.Minute)
					for _, o := range backup {
						o.SetUID("")
						o.SetResourceVersion("")
						o.SetManagedFields(nil)
						if !references {
							o.SetOwnerReferences(nil)
						}
						if _, err := w.Cluster().Put(o); err != nil {
							t.Fatal(err)
						}
					}
					if restart {
						if err := w.Restart(t.Context()); err != nil {
							t.Fatal(err)
						}
					}
					advance(t, w, 5*time.Minute)
					before := len(w.Writes())
					advance(t, w, 10*time.Minute)
					if writes := len(w.Writes()) - before; writes > 30 {
						t.Errorf("%d writes in ten minutes", writes)
					}
					for _, o := range backup {
						if w.Cluster().Find(o.GroupVersionKind().GroupKind(), o.GetNamespace(), o.GetName()) == nil {
							t.Errorf("%s %s is lost", o.GetKind(), o.GetName())
						}
					}
					if got := ready(w); !strings.HasPrefix(got, "False ErrResourceExists: ") {
						t.Errorf("Ready is %s, want it to name the objects of another UID", got)
					} else if !strings.Contains(got, "owned by an earlier Foo/default/example-foo of the same name, with the UID "+string(former)) {
						t.Errorf("Ready is %s, want it to tell that the objects belong to an earlier Foo, with the UID %s", got, former)
					}
				})
			}
		}
	}
}
