package access

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/engine/answer"
	"reconcel/engine/decide"
	"reconcel/engine/ident"
	"reconcel/engine/managedfields"
	"reconcel/engine/plan"
	"reconcel/rules"
)

// A Reader reads objects live, where the caches may be behind.
type Reader struct {
	*Subject
}

// Get reads the object that has a child's name.
func (r *Reader) Get(ctx context.Context, k ident.Kind, id rules.Identity) (*unstructured.Unstructured, error) {
	return r.GetSince(ctx, k, id, "")
}

// GetSince reads the object that has a child's name, in a state that is not older than a
// resourceVersion. The API server answers that from memory; without a version it asks etcd.
func (r *Reader) GetSince(ctx context.Context, k ident.Kind, id rules.Identity,
	version string) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, plan.WriteTimeout)
	defer cancel()
	u, err := r.Cluster.Resource(k, id.Namespace).Get(ctx, id.Name, metav1.GetOptions{ResourceVersion: version})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", id.String(), err)
	}
	return u, nil
}

// Confirm reads the primary live, once per reconciliation, and checks that the
// reconciliation rendered its current state.
func (r *Reader) Confirm(ctx context.Context) error {
	if r.Confirmed {
		return nil
	}
	live, err := r.ReadPrimary(ctx)
	switch {
	case err != nil:
		return err
	case live == nil && r.Primary.ForCluster():
		r.Confirmed = true // A bundle ends with its rule, not with its ConfigMap.
		return nil
	case live == nil, (live.GetDeletionTimestamp() != nil) != r.Self.Terminating():
		return decide.ErrStale
	case live.GetResourceVersion() != r.Self.GetResourceVersion() && !r.SameIntent(live.Object, r.Self.Content()):
		return decide.ErrStale
	}
	r.Confirmed = true
	return nil
}

// Overtaken reports whether the cache shows that the primary has been deleted since the
// reconciliation began. While requests are slow, a reconciliation takes seconds.
func (r *Reader) Overtaken() bool {
	if !r.Cached || r.Self.Terminating() {
		return false
	}
	shown, listed := r.Cache.Get(r.Req.Namespace, r.Req.Name)
	return listed && (shown == nil || shown.GetUID() != r.Req.UID || shown.Terminating())
}

// ReadPrimary reads the primary live. It returns nil if the primary is gone.
func (r *Reader) ReadPrimary(ctx context.Context) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, plan.WriteTimeout)
	defer cancel()
	live, err := r.Cluster.Resource(r.Cache.Kind(), r.Req.Namespace).Get(ctx, r.Req.Name, metav1.GetOptions{})
	switch {
	case answer.IsAbsent(err), err == nil && rules.UIDOf(r.Req.Kind, live) != r.Req.UID:
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", r.Req, err)
	}
	return live, nil
}

// SameIntent reports whether two states of the primary are the same to the rules: they
// differ only in fields that no rule reads, and in metadata besides labels and
// annotations.
func (r *Reader) SameIntent(a, b map[string]any) bool {
	w := r.Primary.Watch
	return managedfields.EqualValues(intent(w.Cached(a)), intent(w.Cached(b)))
}

func intent(object map[string]any) map[string]any {
	u := unstructured.Unstructured{Object: object}
	rest := make(map[string]any, len(object))
	for key, value := range object {
		if key != "metadata" {
			rest[key] = value
		}
	}
	for key, value := range map[string]map[string]string{"labels": u.GetLabels(), "annotations": u.GetAnnotations()} {
		section := map[string]any{}
		for k, v := range value {
			section[k] = v
		}
		delete(section, rules.AnnotationStatus) // No rule sees it.
		rest["metadata."+key] = section
	}
	return rest
}
