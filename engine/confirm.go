package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/engine/answer"
	"reconcel/engine/managedfields"
	"reconcel/rules"
)

// errStale means that the cache is behind. It is not a failure: the event that
// updates the cache is on its way.
var errStale = errors.New("the cache is behind the cluster")

// retryStale returns when to reconcile again because the cache is behind.
func (p *pass) retryStale() time.Duration {
	p.stale = true
	now := p.engine.clock.Now()
	if p.memory.staleSince.IsZero() {
		p.memory.staleSince = now
	}
	return min(max(now.Sub(p.memory.staleSince), staleRetry), longestStaleRetry)
}

// confirm reads the primary live, once per reconciliation, and checks that the
// reconciliation rendered its current state.
func (p *pass) confirm(ctx context.Context) error {
	if p.confirmed {
		return nil
	}
	live, err := p.readPrimary(ctx)
	switch {
	case err != nil:
		return err
	case live == nil && p.primary.ForCluster():
		p.confirmed = true // A bundle ends with its rule, not with its ConfigMap.
		return nil
	case live == nil, (live.GetDeletionTimestamp() != nil) != p.self.Terminating():
		return errStale
	case live.GetResourceVersion() != p.self.GetResourceVersion() && !p.sameIntent(live.Object, p.self.Content()):
		return errStale
	}
	p.confirmed = true
	return nil
}

// overtaken reports whether the cache shows that the primary has been deleted since the
// reconciliation began. While requests are slow, a reconciliation takes seconds.
func (p *pass) overtaken() bool {
	if !p.cached || p.self.Terminating() {
		return false
	}
	shown, listed := p.cache.Get(p.req.Namespace, p.req.Name)
	return listed && (shown == nil || shown.GetUID() != p.req.UID || shown.Terminating())
}

// readPrimary reads the primary live. It returns nil if the primary is gone.
func (p *pass) readPrimary(ctx context.Context) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	live, err := p.engine.resource(p.cache.Kind(), p.req.Namespace).Get(ctx, p.req.Name, metav1.GetOptions{})
	switch {
	case answer.IsAbsent(err), err == nil && rules.UIDOf(p.req.Kind, live) != p.req.UID:
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", p.req, err)
	}
	return live, nil
}

// sameIntent reports whether two states of the primary are the same to the rules: they
// differ only in fields that no rule reads, and in metadata besides labels and
// annotations.
func (p *pass) sameIntent(a, b map[string]any) bool {
	w := p.primary.watch
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
