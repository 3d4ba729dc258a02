//go:build integration

package examples

import (
	"cmp"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"reconcel/test/e2e"
)

func (w *world) of(u *unstructured.Unstructured) dynamic.ResourceInterface {
	w.Helper()
	return w.ResourceIn(u.GroupVersionKind(), cmp.Or(u.GetNamespace(), w.Namespace))
}

func (w *world) create(u *unstructured.Unstructured) *unstructured.Unstructured {
	w.Helper()
	created, err := w.of(u).Create(w.Context(), u, metav1.CreateOptions{FieldManager: "driver"})
	if err != nil {
		w.Fatalf("create %s: %v", describe(u), err)
	}
	if created.GetNamespace() != w.Namespace {
		w.strays = append(w.strays, created)
	}
	return created
}

// live reads an object from the API server.
func (w *world) live(u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	w.Helper()
	return w.of(u).Get(w.Context(), u.GetName(), metav1.GetOptions{})
}

// get reads an object by name, or by namespace/name if it is not in the test's namespace.
// It returns nil if the object does not exist.
func (w *world) get(apiVersion, kind, name string) *unstructured.Unstructured {
	w.Helper()
	namespace, name := split(name)
	u, err := w.ResourceIn(e2e.GVK(apiVersion, kind), cmp.Or(namespace, w.Namespace)).Get(w.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		w.Fatal(err)
	}
	return u
}

// primary returns one of the primaries as the test created it.
func (w *world) primary(kind, name string) *unstructured.Unstructured {
	w.Helper()
	for _, p := range w.primaries {
		if p.GetKind() == kind && p.GetName() == w.at(name) {
			return p
		}
	}
	w.Fatalf("there is no primary %s %s", kind, name)
	return nil
}

func (w *world) update(u update) {
	w.Helper()
	w.patch(w.primary(u.kind, u.name), u.patch)
}

func (w *world) patch(u *unstructured.Unstructured, body string, subresources ...string) {
	w.Helper()
	_, err := w.of(u).Patch(w.Context(), u.GetName(), types.MergePatchType, []byte(body), metav1.PatchOptions{FieldManager: "driver"}, subresources...)
	if err != nil {
		w.Fatalf("patch %s: %v", describe(u), err)
	}
}

// put updates an object with a read resourceVersion.
func (w *world) put(u *unstructured.Unstructured) {
	w.Helper()
	if _, err := w.of(u).Update(w.Context(), u, metav1.UpdateOptions{FieldManager: "driver"}); err != nil {
		w.Fatalf("update %s: %v", describe(u), err)
	}
}

// delete deletes an object, but not another one of the same name.
func (w *world) delete(u *unstructured.Unstructured) {
	w.Helper()
	background := metav1.DeletePropagationBackground
	uid := u.GetUID()
	err := w.of(u).Delete(w.Context(), u.GetName(), metav1.DeleteOptions{PropagationPolicy: &background, Preconditions: &metav1.Preconditions{UID: &uid}})
	if err != nil {
		w.Fatalf("delete %s: %v", describe(u), err)
	}
}

func (w *world) deletePrimaries() {
	w.Helper()
	for _, p := range w.primaries {
		w.delete(p)
	}
}
