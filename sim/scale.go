package sim

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
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

// A scaleWrite returns the next state of a Scale, with its managedFields.
type scaleWrite func(fm *fieldManager, now *unstructured.Unstructured) (*unstructured.Unstructured, error)

func (r *request) scale(write scaleWrite) (*unstructured.Unstructured, error) {
	if !r.kind.Scale {
		return nil, errNotServed(resourceOf(r.kind), "scale")
	}
	old := r.live()
	if old == nil {
		return nil, r.notFound()
	}
	fm, err := r.fields()
	if err != nil {
		return nil, err
	}
	gv := r.kind.GVK.GroupVersion()
	handler := managedfields.NewScaleHandler(old.GetManagedFields(), gv, managedfields.ResourcePathMappings{gv.String(): replicasPath})
	now := scaleOf(old)
	entries, err := handler.ToSubresource()
	if err != nil {
		return nil, err
	}
	now.SetManagedFields(entries)
	next, err := write(fm, now)
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
	u.SetResourceVersion(next.GetResourceVersion())
	stored, err := r.replace(u, old)
	if err != nil {
		return nil, err
	}
	return scaleOf(stored), nil
}

func (r *request) putScale(body *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return r.scale(func(fm *fieldManager, now *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		return r.changedScale(fm, now, body.DeepCopy())
	})
}

func (r *request) patchScale(kind types.PatchType, body []byte) (*unstructured.Unstructured, error) {
	return r.scale(func(fm *fieldManager, now *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		if kind != types.ApplyPatchType {
			next, err := applyPatch(now, kind, body)
			if err != nil {
				return nil, err
			}
			return r.changedScale(fm, now, next)
		}
		applied := &unstructured.Unstructured{}
		if err := utiljson.Unmarshal(body, &applied.Object); err != nil {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding YAML: %v", err))
		}
		merged, err := fm.Apply(now, applied, r.manager, r.force)
		if err != nil {
			return nil, err
		}
		return merged.(*unstructured.Unstructured), nil
	})
}

func (r *request) changedScale(fm *fieldManager, now, next *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if uid := next.GetUID(); uid != "" && uid != now.GetUID() {
		return nil, errOtherUID(r, uid, now.GetUID())
	}
	if next.GetResourceVersion() == "" {
		next.SetResourceVersion(now.GetResourceVersion())
	}
	next.SetCreationTimestamp(now.GetCreationTimestamp())
	next.SetManagedFields(now.GetManagedFields())
	return trackUpdate(fm, now, next, r.manager), nil
}
