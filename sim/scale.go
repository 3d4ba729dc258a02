package sim

import (
	"fmt"
	"math"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"reconcel/rules/schema"
)

var scaleKind = runtimeschema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}

// unsetReplicas stands for the replicas of a custom resource that says none, as in the API server.
const unsetReplicas = math.MinInt32

// fieldsOf returns the fields of a path such as .spec.replicas.
func fieldsOf(path string) []string { return strings.Split(strings.TrimPrefix(path, "."), ".") }

// scaleOf returns the Scale of an object.
func scaleOf(k *schema.Kind, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	out := newObject(scaleKind)
	metadata := map[string]any{}
	own, _ := u.Object["metadata"].(map[string]any)
	for _, name := range []string{"name", "namespace", "uid", "resourceVersion", "creationTimestamp"} {
		if value, ok := own[name]; ok {
			metadata[name] = value
		}
	}
	out.Object["metadata"] = metadata
	paths := k.ScalePaths()
	wanted, _, err := unstructured.NestedInt64(u.Object, fieldsOf(paths.Replicas)...)
	if err != nil {
		return nil, err
	}
	spec := map[string]any{}
	if wanted != 0 {
		spec["replicas"] = wanted
	}
	out.Object["spec"] = spec
	n, _, err := unstructured.NestedInt64(u.Object, fieldsOf(paths.StatusReplicas)...)
	if err != nil {
		return nil, err
	}
	status := map[string]any{"replicas": n}
	selector, err := selectorOf(k, u)
	if selector != "" {
		status["selector"] = selector
	}
	out.Object["status"] = status
	return out, err
}

// selectorOf returns the selector of the Pods that an object scales: that of a built-in kind, or a text in the status
// of a custom one.
func selectorOf(k *schema.Kind, u *unstructured.Unstructured) (string, error) {
	if path := k.ScalePaths().Selector; path != "" {
		text, _, err := unstructured.NestedString(u.Object, fieldsOf(path)...)
		return text, err
	}
	selector, ok, _ := unstructured.NestedMap(u.Object, "spec", "selector")
	if k.Custom || !ok {
		return "", nil
	}
	var typed metav1.LabelSelector
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(selector, &typed); err != nil {
		return "", err
	}
	of, err := metav1.LabelSelectorAsSelector(&typed)
	if err != nil {
		return "", err
	}
	return of.String(), nil
}

// scale serves a GET of the Scale of an object.
func (r *request) scale(u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	scale, err := scaleOf(r.kind, u)
	if err == nil && r.saysNone(u) {
		return nil, apierrors.NewInternalError(fmt.Errorf("the spec replicas field %q does not exist",
			r.kind.ScalePaths().Replicas))
	}
	return scale, err
}

// saysNone reports whether a custom resource has no field for its replicas.
func (r *request) saysNone(u *unstructured.Unstructured) bool {
	_, found, _ := unstructured.NestedFieldNoCopy(u.Object, fieldsOf(r.kind.ScalePaths().Replicas)...)
	return r.kind.Custom && !found
}

// changeScale serves a write of the Scale of an object.
func (r *request) changeScale(fm *fieldManager, old *unstructured.Unstructured,
	change change) (*unstructured.Unstructured, error) {
	gv := r.kind.GVK.GroupVersion()
	at := fieldsOf(r.kind.ScalePaths().Replicas)
	var parts []any
	for _, name := range at {
		parts = append(parts, name)
	}
	handler := managedfields.NewScaleHandler(old.GetManagedFields(), gv,
		managedfields.ResourcePathMappings{gv.String(): fieldpath.MakePathOrDie(parts...)})
	now, err := scaleOf(r.kind, old)
	if err != nil {
		return nil, err
	}
	if r.saysNone(old) {
		now.Object["spec"] = map[string]any{"replicas": int64(unsetReplicas)}
	}
	entries, err := handler.ToSubresource()
	if err != nil {
		return nil, err
	}
	now.SetManagedFields(entries)
	next, err := change(fm, now)
	if err != nil {
		return nil, err
	}
	n, err := r.replicas(next)
	if err != nil {
		return nil, err
	}
	u := old.DeepCopy()
	if err := unstructured.SetNestedField(u.Object, n, at...); err != nil {
		return nil, err
	}
	if entries, err = handler.ToParent(next.GetManagedFields()); err != nil {
		return nil, err
	}
	u.SetManagedFields(entries)
	if version := next.GetResourceVersion(); version != "" {
		u.SetResourceVersion(version)
	}
	stored, err := r.replace(u, old)
	if err != nil {
		return nil, err
	}
	return scaleOf(r.kind, stored)
}

// replicas returns the replicas that a Scale asks for. Those that are missing are none.
func (r *request) replicas(next *unstructured.Unstructured) (int64, error) {
	n, _, err := unstructured.NestedInt64(next.Object, "spec", "replicas")
	switch {
	case err != nil:
		return 0, apierrors.NewBadRequest("spec.replicas of the Scale is not a number of replicas")
	case n == unsetReplicas:
		return 0, apierrors.NewBadRequest(fmt.Sprintf("the spec replicas field %q cannot be empty",
			r.kind.ScalePaths().Replicas))
	case n < 0 && !r.kind.Custom: // Custom resources are validated as a whole.
		return 0, apierrors.NewInvalid(scaleKind.GroupKind(), r.name, field.ErrorList{
			field.Invalid(field.NewPath("spec", "replicas"), n, validation.IsNegativeErrorMsg)})
	}
	return n, nil
}
