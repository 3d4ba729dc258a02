package engine

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/rules"
)

// Of some fields only one may be set: the kinds of a volume, a value and where
// it comes from. If somebody switches from ours to another, an apply of ours
// sets both, and the API server refuses that for ever. Nor can the apply take
// the other field away, since it is not ours. So it is made ours first, in
// managedFields alone: the next apply, which does not mention it, removes it.

// claim makes the fields ours that the API server has refused an apply for and
// that the rendering does not have. It returns the object to try again with, or
// nil and the error that stands. What has been claimed already is not claimed
// again, so that this comes to an end.
func (p *pass) claim(ctx context.Context, k Kind, d *rules.Desired, live *object, refusal error) (*object, error) {
	desired, err := d.Object()
	if err != nil {
		return nil, refusal
	}
	u, err := p.get(ctx, k, d.Identity)
	if err != nil || u.GetUID() != live.GetUID() || u.GetDeletionTimestamp() != nil {
		return nil, refusal
	}
	patch, err := claimPatch(u, desired, causes(refusal), carries(&object{Unstructured: *u}, d))
	if patch == nil || err != nil {
		return nil, refusal
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	patched, err := p.engine.writer(d.Child.Rule, p.req, k, d.Identity.Namespace).
		Patch(ctx, d.Identity.Name, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: FieldManager})
	switch {
	case apierrors.IsInvalid(err), apierrors.IsConflict(err):
		return nil, errStale // A test of the patch failed: somebody has written in between.
	case err != nil:
		return nil, err
	}
	p.engine.metrics.writes.WithLabelValues("patch", k.GVK.Kind).Inc()
	return newObject(patched, childRole), nil
}

// claimPatch returns the JSON patch that makes the named fields ours where the
// rendering does not have them, or nil if there is nothing to claim. accepted
// says that the rendering was accepted before.
func claimPatch(u *unstructured.Unstructured, desired map[string]any, named []string, accepted bool) ([]byte, error) {
	metadata, _ := u.Object["metadata"].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	f := &finder{live: u.Object, desired: desired, rivals: accepted}
	var own map[string]any
	for _, e := range entries {
		entry, _ := e.(map[string]any)
		tree, _ := entry["fieldsV1"].(map[string]any)
		if tree == nil || entry["subresource"] != nil {
			continue
		}
		f.trees = append(f.trees, tree)
		if entry["operation"] == "Apply" && writtenAs(childRole, entry) {
			own = tree
		}
	}
	if own == nil {
		return nil, nil // A forced apply makes all ours that it has.
	}
	changed := false
	for _, field := range named {
		for _, path := range f.find(field) {
			for _, tree := range f.trees {
				if tree != nil && !isSame(tree, own) && cut(tree, path) {
					changed = true
				}
			}
			if !has(own, path) {
				plant(own, path)
				changed = true
			}
		}
	}
	if !changed {
		return nil, nil
	}
	entries = slices.DeleteFunc(entries, func(e any) bool {
		entry, _ := e.(map[string]any)
		tree, ok := entry["fieldsV1"].(map[string]any)
		return ok && len(tree) == 0
	})
	return json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/resourceVersion", "value": u.GetResourceVersion()},
		{"op": "replace", "path": "/metadata/managedFields", "value": entries},
	})
}

// isSame reports whether two maps are one.
func isSame(a, b map[string]any) bool {
	return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
}

// plant adds a path to a tree. A branch that was owned as a whole stays so.
func plant(tree map[string]any, path []string) {
	for i, key := range path {
		branch, ok := tree[key].(map[string]any)
		switch {
		case !ok:
			branch = map[string]any{}
			tree[key] = branch
		case len(branch) == 0 && i < len(path)-1:
			branch["."] = map[string]any{}
		}
		tree = branch
	}
}
