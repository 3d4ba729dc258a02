package engine

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// dropOrphanedFields removes the managedFields entry "before-first-apply" from
// an object that we have just applied. The API server adds it when somebody
// has stripped managedFields: it then holds every field that was there, and a
// field that a rule stops to render would never be removed. It cannot stand on
// an object that was made by an apply in any other way.
func (p *pass) dropOrphanedFields(ctx context.Context, k kind, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	index := -1
	for i, entry := range u.GetManagedFields() {
		if entry.Manager == "before-first-apply" {
			index = i
		}
	}
	if index < 0 {
		return u, nil
	}
	patch, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/resourceVersion", "value": u.GetResourceVersion()},
		{"op": "test", "path": fmt.Sprintf("/metadata/managedFields/%d/manager", index), "value": "before-first-apply"},
		{"op": "remove", "path": fmt.Sprintf("/metadata/managedFields/%d", index)},
	})
	if err != nil {
		return nil, err
	}
	p.engine.metrics.writes.WithLabelValues("patch", k.gvk.Kind).Inc()
	return p.engine.resource(k, u.GetNamespace()).Patch(ctx, u.GetName(), types.JSONPatchType, patch, metav1.PatchOptions{})
}
