package e2e

import (
	"errors"
	"io"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
)

// FieldManager is the field manager of a test's own writes.
const FieldManager = "driver"

// Kinds that many tests use.
var (
	ConfigMap  = GVK("v1", "ConfigMap")
	Deployment = GVK("apps/v1", "Deployment")
	Foo        = GVK("samplecontroller.k8s.io/v1alpha1", "Foo")
	Widget     = GVK("test.reconcel.dev/v1", "Widget")
)

// GVK returns the kind for the apiVersion and kind of a manifest.
func GVK(apiVersion, kind string) schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(apiVersion, kind)
}

// Parse reads the objects of a manifest.
func Parse(t *testing.T, manifest string) []*unstructured.Unstructured {
	t.Helper()
	var objects []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(manifest), 4096)
	for {
		u := &unstructured.Unstructured{}
		err := decoder.Decode(&u.Object)
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, manifest)
		}
		if len(u.Object) > 0 {
			objects = append(objects, u)
		}
	}
}

// Resource returns the client for a kind, in the world's namespace unless the kind is
// cluster-scoped.
func (w *World) Resource(kind schema.GroupVersionKind) dynamic.ResourceInterface {
	w.Helper()
	return w.ResourceIn(kind, w.Namespace)
}

// ResourceIn returns the client for a kind in a namespace.
func (w *World) ResourceIn(kind schema.GroupVersionKind, namespace string) dynamic.ResourceInterface {
	w.Helper()
	mapping, err := w.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil { // The discovery may have failed: a cache of it takes that for a group that is not served.
		w.Eventually("kind "+kind.Kind+" to be served", func() error {
			w.mapper.Reset()
			mapping, err = w.mapper.RESTMapping(kind.GroupKind(), kind.Version)
			return err
		})
	}
	if mapping.Scope.Name() != "namespace" {
		return w.Client.Resource(mapping.Resource)
	}
	return w.Client.Resource(mapping.Resource).Namespace(namespace)
}

// Create creates the objects of a manifest, and returns the last one.
func (w *World) Create(manifest string) (last *unstructured.Unstructured) {
	w.Helper()
	for _, u := range Parse(w.T, w.Fill(manifest)) {
		var err error
		if last, err = w.Resource(u.GroupVersionKind()).Create(w.Context(), u,
			metav1.CreateOptions{FieldManager: FieldManager}); err != nil {
			w.Fatalf("create %s %s: %v", u.GetKind(), u.GetName(), err)
		}
	}
	return last
}

// CRD creates the missing CRDs of a manifest, and waits until all of them are served.
func (w *World) CRD(manifest string) {
	w.Helper()
	for _, u := range Parse(w.T, manifest) {
		crds := w.Resource(u.GroupVersionKind())
		if _, err := crds.Create(w.Context(), u, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			w.Fatal(err)
		}
		w.Eventually("CRD "+u.GetName()+" to be established", func() error {
			live, err := crds.Get(w.Context(), u.GetName(), metav1.GetOptions{})
			if err != nil {
				return err
			}
			return Condition(live, "Established", "True")
		})
	}
}

// Get returns an object, or nil if it does not exist.
func (w *World) Get(kind schema.GroupVersionKind, name string) *unstructured.Unstructured {
	w.Helper()
	u, err := w.Resource(kind).Get(w.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		w.Fatal(err)
	}
	return u
}

// Patch merges JSON into an object.
func (w *World) Patch(kind schema.GroupVersionKind, name, body string,
	subresources ...string) *unstructured.Unstructured {
	w.Helper()
	u, err := w.Resource(kind).Patch(w.Context(), name, types.MergePatchType, []byte(body),
		metav1.PatchOptions{FieldManager: FieldManager}, subresources...)
	if err != nil {
		w.Fatalf("patch %s %s: %v", kind.Kind, name, err)
	}
	return u
}

// Delete deletes an object, and its dependents in the background.
func (w *World) Delete(kind schema.GroupVersionKind, name string) {
	w.Helper()
	background := metav1.DeletePropagationBackground
	if err := w.Resource(kind).Delete(w.Context(), name,
		metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
		w.Fatalf("delete %s %s: %v", kind.Kind, name, err)
	}
}
