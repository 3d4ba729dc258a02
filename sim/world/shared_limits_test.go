package world_test

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules"
)

// TestSharedByTooMany leaves no room for one more annotation on a shared ConfigMap. The new Foo is
// told, nothing else changes, and it joins when there is room.
func TestSharedByTooMany(t *testing.T) {
	w := shareBy(t, sharedRules)
	w.create("a", "one")
	settle(t, w.World)
	const note, room = "example.com/note", 50
	free := 256<<10 - room - len(note)
	for key, value := range w.Cluster().Find(schema.GroupKind{Kind: "ConfigMap"}, "default", "one").GetAnnotations() {
		free -= len(key) + len(value)
	}
	w.edit(map[string]any{"metadata": map[string]any{"annotations": map[string]any{note: strings.Repeat("x", free)}}})
	w.create("b", "one")
	if err := w.Advance(t.Context(), 10*time.Second); err != nil {
		t.Fatal(err)
	}
	foo := w.Cluster().Find(fooKind, "default", "b")
	if text, _ := foo.MarshalJSON(); condition(foo, "Ready") != "False Rejected" || !strings.Contains(string(text), "cannot be shared by more resources") {
		t.Errorf("the Foo is %s", text)
	}
	if got := condition(w.Cluster().Find(fooKind, "default", "a"), "Ready"); w.shared() != "one: a" || got != "True Reconciled" {
		t.Errorf("there is %q, and a is Ready %s", w.shared(), got)
	}
	w.edit(map[string]any{"metadata": map[string]any{"annotations": map[string]any{note: nil}}})
	if err := w.Advance(t.Context(), 3*time.Minute); err != nil {
		t.Fatal(err)
	}
	if w.shared() != "one: a b" {
		t.Errorf("there is %q", w.shared())
	}
}

// TestSharedAcrossNamespaces has Foos of two namespaces share an object without a namespace.
func TestSharedAcrossNamespaces(t *testing.T) {
	text := strings.NewReplacer(
		", namespaces: [default]", "", "  children:", "  allow: {clusterScoped: [{group: storage.k8s.io, kind: StorageClass}]}\n  children:",
		"apiVersion: v1\n      kind: ConfigMap", "apiVersion: storage.k8s.io/v1\n      kind: StorageClass\n      provisioner: example.com/disk",
		`data: {replicas: "${string(self.spec.replicas)}", kept: "yes"}`, `parameters: {replicas: "${string(self.spec.replicas)}"}`).Replace(sharedRules)
	w := shareBy(t, text)
	foos := w.Cluster().Client("someone").Resource(fooResource)
	for _, namespace := range []string{"default", "kube-public"} {
		foo := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo", "metadata": map[string]any{"name": "a", "namespace": namespace},
			"spec": map[string]any{"deploymentName": "one", "replicas": int64(1)},
		}}
		if _, err := w.Cluster().Put(foo); err != nil {
			t.Fatal(err)
		}
	}
	settle(t, w.World)
	owners := func() (all []string) {
		if o := w.Cluster().Find(schema.GroupKind{Group: "storage.k8s.io", Kind: "StorageClass"}, "", "one"); o != nil {
			for _, s := range rules.SharesOf(o.Object) {
				all = append(all, s.Owner.String())
			}
		}
		return all
	}
	if all := owners(); len(all) != 2 {
		t.Fatalf("the owners are %v", all)
	}
	for left, namespace := range []string{"kube-public", "default"} {
		if err := foos.Namespace(namespace).Delete(t.Context(), "a", deleteOptions); err != nil {
			t.Fatal(err)
		}
		settle(t, w.World)
		if all := owners(); len(all) != 1-left {
			t.Errorf("without the Foo in %s the owners are %v", namespace, all)
		}
	}
	for _, o := range w.Objects() {
		t.Errorf("%s %s is left", o.GetKind(), o.GetName())
	}
}
