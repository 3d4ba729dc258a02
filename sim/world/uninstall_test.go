package world_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/engine"
	"reconcel/sim/world"
)

// removable are rules that leave a finalizer, a patch and a child.
const removable = `- name: a
  for: {apiVersion: v1, kind: Secret}
  teardown: ordered
  patch: {metadata: {labels: {a: x}}}
  children: [{id: c, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: of-a}}}]
- name: b
  for: {apiVersion: v1, kind: Secret}
  teardown: ordered
  patch: {metadata: {labels: {b: x}}}
  children: [{id: c, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: of-b}}}]
`

// removableWorld has the rules removable and one Secret.
func removableWorld(t *testing.T) *world.World {
	t.Helper()
	w, err := world.New(world.Options{Program: briefRules(t, removable), Kinds: kindsOf(t, briefs)})
	if err != nil {
		t.Fatal(err)
	}
	add(t, w, `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"one","namespace":"default"}}`)
	settle(t, w)
	return w
}

// stateOf says which finalizers and labels the Secret has, and which children there are.
func stateOf(w *world.World) string {
	one := w.Cluster().Find(runtimeschema.GroupKind{Kind: "Secret"}, "default", "one")
	all := slices.Clone(one.GetFinalizers())
	for key := range one.GetLabels() {
		all = append(all, "label "+key)
	}
	for _, u := range w.Objects() {
		if u.GetKind() == "ConfigMap" && u.GetNamespace() == "default" {
			all = append(all, u.GetName())
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

const (
	everything = "label a, label b, of-a, of-b, reconcel.dev/a, reconcel.dev/b"
	onlyB      = "label b, of-b, reconcel.dev/b"
)

func uninstallIn(t *testing.T, w *world.World, name string, more func(string)) (said string, err error) {
	t.Helper()
	err = w.Uninstall(t.Context(), name, engine.Uninstallation{DeleteChildren: true, Tell: func(object, what string) {
		said += object + " " + what + "\n"
		more(object)
	}})
	return said, err
}

// TestUninstallRemovesAll removes everything that the only installation has left.
func TestUninstallRemovesAll(t *testing.T) {
	w := removableWorld(t)
	if said, err := uninstallIn(t, w, "reconcel", func(string) {}); err != nil || stateOf(w) != "" {
		t.Errorf("left is %s; error %v, said was\n%s", stateOf(w), err, said)
	}
}

// TestUninstallLeavesAnotherInstallation uninstalls an installation that once had the rules of a running one.
func TestUninstallLeavesAnotherInstallation(t *testing.T) {
	w := removableWorld(t)
	old := w.Cluster().Find(runtimeschema.GroupKind{Kind: "ConfigMap"}, "kube-system", "reconcel-inventory")
	if _, err := w.Cluster().Put(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": old.Object["data"],
		"metadata": map[string]any{"name": "old-inventory", "namespace": "kube-system", "labels": old.Object["metadata"].(map[string]any)["labels"]}}}); err != nil {
		t.Fatal(err)
	}
	said, err := uninstallIn(t, w, "old", func(string) {})
	if err != nil || stateOf(w) != everything {
		t.Errorf("left is %s; error %v", stateOf(w), err)
	}
	for _, line := range []string{
		"Secret/default/one patch kept: the rule is also in the inventory of kube-system/reconcel\n",
		"Secret/default/one finalizer reconcel.dev/a kept: the rule is also in the inventory of kube-system/reconcel\n",
		"ConfigMap/kube-system/old-inventory deleted\n",
	} {
		if !strings.Contains(said, line) {
			t.Errorf("%q is not said:\n%s", line, said)
		}
	}
	if _, err := uninstallIn(t, w, "reconcel", func(string) {}); err != nil || stateOf(w) != "" {
		t.Errorf("the second one has left %s; error %v", stateOf(w), err)
	}
}

// startProcess starts a process of the installation. Its Lease has the time of the machine.
func startProcess(t *testing.T, w *world.World) {
	t.Helper()
	leases := w.Cluster().Client("someone").Resource(runtimeschema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}).Namespace("kube-system")
	lease := `{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"reconcel"},"spec":{"holderIdentity":"new","leaseDurationSeconds":15,"renewTime":"` +
		time.Now().UTC().Format("2006-01-02T15:04:05.000000Z") + `"}}`
	force := true
	if _, err := leases.Patch(t.Context(), "reconcel", types.ApplyPatchType, []byte(lease), metav1.PatchOptions{FieldManager: "new", Force: &force}); err != nil {
		t.Fatal(err)
	}
}

// TestUninstallStopsForAProcess starts a process of the installation after the first rule is uninstalled.
func TestUninstallStopsForAProcess(t *testing.T) {
	w := removableWorld(t)
	said, err := uninstallIn(t, w, "reconcel", func(object string) {
		if object != "ConfigMap/default/of-a" {
			return
		}
		startProcess(t, w)
	})
	if err == nil || !strings.Contains(err.Error(), "held by new") || strings.Count(err.Error(), "\n") > 0 {
		t.Errorf("error %v; said was\n%s", err, said)
	}
	if left := stateOf(w); left != onlyB {
		t.Errorf("left is %s", left)
	}
	for _, kept := range []string{"reconcel-inventory", "reconcel-revisions"} {
		if w.Cluster().Find(runtimeschema.GroupKind{Kind: "ConfigMap"}, "kube-system", kept) == nil {
			t.Errorf("%s is deleted", kept)
		}
	}
}
