package dryrun

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"reconcel/sim"
)

// answer returns the object after a patch, which may build on an earlier write.
func (c *Client) answer(ctx context.Context, r *Recorder, w *Write,
	options metav1.PatchOptions) (*unstructured.Unstructured, error) {
	on := r.under(w)
	if on == nil && !c.local {
		return c.sender.patch(ctx, w, options)
	}
	merged, err := c.merge(ctx, r, w, on)
	if err != nil || c.local || w.Patch == types.JSONPatchType {
		return merged, err // A JSON patch changes only managedFields.
	}
	after, err := c.sender.update(ctx, w, merged)
	if apierrors.IsForbidden(err) {
		w.Unasked = true // update is another permission than patch.
		return merged, nil
	}
	return after, err
}

// merge computes a patch without the API server.
func (c *Client) merge(ctx context.Context, r *Recorder, w, on *Write) (*unstructured.Unstructured, error) {
	if on != nil {
		return c.merged(w, on.After)
	}
	live, err := c.find(ctx, r, w.Target)
	switch {
	case apierrors.IsNotFound(err) && w.Creates():
		return appliedObject(w)
	case err != nil:
		return nil, err
	case w.Creates():
		return nil, apierrors.NewAlreadyExists(w.Resource.GroupResource(), w.Name)
	}
	return c.merged(w, live)
}

// merged returns an object after a patch.
func (c *Client) merged(w *Write, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if w.Patch == types.JSONPatchType {
		return sim.Patched(live, w.Patch, w.Body)
	}
	kinds, err := c.kinds()
	if err != nil {
		return nil, fmt.Errorf("schemas of the cluster: %w", err)
	}
	if w.Patch == types.MergePatchType {
		after, err := sim.Patched(live, w.Patch, w.Body)
		if err != nil {
			return nil, err
		}
		return kinds.Track(live, after, w.Manager)
	}
	body, err := appliedObject(w)
	if err != nil {
		return nil, err
	}
	return kinds.Merge(live, body, w.Subresource, w.Manager)
}

// appliedObject returns the object that an apply sends.
func appliedObject(w *Write) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(w.Body, &u.Object); err != nil {
		return nil, err
	}
	u.SetName(w.Name)
	if w.Namespace != "" {
		u.SetNamespace(w.Namespace)
	}
	if w.Creates() {
		u.SetResourceVersion("")
	}
	return u, nil
}

// neverVersion is a resourceVersion that no object has.
const neverVersion = "1"

// Creates reports whether the write is an apply that only creates: it has the
// resourceVersion neverVersion.
func (w *Write) Creates() bool {
	if w.Patch != types.ApplyPatchType || w.Subresource != "" {
		return false
	}
	var sent struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	return utiljson.Unmarshal(w.Body, &sent) == nil && sent.Metadata.ResourceVersion == neverVersion
}
