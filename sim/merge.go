package sim

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// Merge returns the result of a forced server-side apply on an object or its subresource, before
// defaults, admission and validation. It does not change its arguments.
func (ks *Kinds) Merge(live, applied *unstructured.Unstructured, subresource, manager string) (*unstructured.Unstructured, error) {
	k := ks.Kind(applied.GroupVersionKind())
	if k == nil {
		return nil, fmt.Errorf("there is no kind %s", applied.GroupVersionKind())
	}
	fm, err := ks.manager(k, subresource)
	if err != nil {
		return nil, err
	}
	merged, err := fm.Apply(live.DeepCopy(), applied.DeepCopy(), manager, true)
	if err != nil {
		return nil, err
	}
	return merged.(*unstructured.Unstructured), nil
}

// Patched returns the result of a JSON or merge patch. It does not change the object.
func Patched(live *unstructured.Unstructured, kind types.PatchType, body []byte) (*unstructured.Unstructured, error) {
	return applyPatch(live, kind, body)
}
