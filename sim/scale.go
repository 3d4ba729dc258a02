package sim

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

var scaleKind = runtimeschema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}

// replicasPath is the path of the replicas. A CRD may name another one, which is not supported.
var replicasPath = fieldpath.MakePathOrDie("spec", "replicas")

// scaleOf returns the Scale of an object.
func scaleOf(u *unstructured.Unstructured) *unstructured.Unstructured {
	out := newObject(scaleKind)
	metadata := map[string]any{}
	own, _ := u.Object["metadata"].(map[string]any)
	for _, name := range []string{"name", "namespace", "uid", "resourceVersion", "creationTimestamp"} {
		if value, ok := own[name]; ok {
			metadata[name] = value
		}
	}
	out.Object["metadata"] = metadata
	spec := map[string]any{}
	if n, ok, _ := unstructured.NestedInt64(u.Object, "spec", "replicas"); ok {
		spec["replicas"] = n
	}
	out.Object["spec"] = spec
	n, _, _ := unstructured.NestedInt64(u.Object, "status", "replicas")
	out.Object["status"] = map[string]any{"replicas": n}
	return out
}

// changeScale serves a write of the Scale of an object.
func (r *request) changeScale(fm *fieldManager, old *unstructured.Unstructured,
	change change) (*unstructured.Unstructured, error) {
	gv := r.kind.GVK.GroupVersion()
	handler := managedfields.NewScaleHandler(old.GetManagedFields(), gv,
		managedfields.ResourcePathMappings{gv.String(): replicasPath})
	now := scaleOf(old)
	entries, err := handler.ToSubresource()
	if err != nil {
		return nil, err
	}
	now.SetManagedFields(entries)
	next, err := change(fm, now)
	if err != nil {
		return nil, err
	}
	n, ok, err := unstructured.NestedInt64(next.Object, "spec", "replicas")
	if err != nil || !ok || n < 0 {
		return nil, apierrors.NewBadRequest("spec.replicas of the Scale is not a number of replicas")
	}
	u := old.DeepCopy()
	if err := unstructured.SetNestedField(u.Object, n, "spec", "replicas"); err != nil {
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
	return scaleOf(stored), nil
}
