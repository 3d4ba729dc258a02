package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// dropOrphanedFields removes the managedFields entry "before-first-apply" from
// an object that we have just applied. The API server adds it when somebody
// has stripped managedFields: it then holds every field that was there, and a
// field that a rule stops to render would never be removed. It cannot stand on
// an object that was made by an apply in any other way.
func (p *pass) dropOrphanedFields(ctx context.Context, writer writer, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	k := writer.kind
	for {
		patch, err := orphanedFieldsPatch(u)
		if patch == nil {
			return u, err
		}
		patched, err := writer.Patch(ctx, u.GetName(), types.JSONPatchType, patch, metav1.PatchOptions{})
		if err == nil {
			p.engine.metrics.writes.WithLabelValues("patch", k.GVK.Kind).Inc()
			return patched, nil
		}
		if !apierrors.IsInvalid(err) && !apierrors.IsConflict(err) {
			return nil, err
		}
		// A test of the patch failed: somebody else has written in between. ctx
		// bounds how often that can happen.
		if u, err = p.engine.resource(k, u.GetNamespace()).Get(ctx, u.GetName(), metav1.GetOptions{}); err != nil {
			return nil, err
		}
	}
}

// orphanedEntry returns the index of the entry, or -1.
func orphanedEntry(u *unstructured.Unstructured) int {
	metadata, _ := u.Object["metadata"].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	return slices.IndexFunc(entries, func(e any) bool {
		entry, _ := e.(map[string]any)
		return entry["manager"] == "before-first-apply"
	})
}

// orphanedFieldsPatch returns a JSON patch for the state of the object that it
// is given, or nil when there is nothing to drop.
func orphanedFieldsPatch(u *unstructured.Unstructured) ([]byte, error) {
	index := orphanedEntry(u)
	if index < 0 {
		return nil, nil
	}
	return json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/resourceVersion", "value": u.GetResourceVersion()},
		{"op": "test", "path": fmt.Sprintf("/metadata/managedFields/%d/manager", index), "value": "before-first-apply"},
		{"op": "remove", "path": fmt.Sprintf("/metadata/managedFields/%d", index)},
	})
}
