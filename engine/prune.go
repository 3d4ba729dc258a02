package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/rules"
)

// errStale says that the cache was found to be behind. Nothing is wrong: the
// event that mends it is on its way.
var errStale = errors.New("the cache is behind the cluster")

const staleRetry = 200 * time.Millisecond

// A cause is why children are removed.
type cause int

const (
	rendering cause = iota // the rule no longer renders them
	leaving                // the rule is no longer for the primary, which goes on to live
)

// prune deletes the children of one rule that no rule of the primary renders.
// Orphans stay when the primary leaves.
func (p *pass) prune(ctx context.Context, rule *rules.Rule, why cause) error {
	for _, w := range p.primary.watchesOf(rule) {
		c := w.cached.Load()
		if c == nil {
			continue // A kind of former rules that the API server does not know.
		}
		for _, item := range c.ownedBy(p.req.UID) {
			o := item.(*object)
			id := rules.Identity{GVK: c.kind.gvk, Namespace: o.GetNamespace(), Name: o.GetName()}
			if o.rule() != rule.Name || o.terminating() || p.wants(id) {
				continue
			}
			if _, controlled := o.controller(); why == leaving && !controlled {
				continue
			}
			if err := p.remove(ctx, c.kind, o); err != nil {
				return fmt.Errorf("rule %q: prune %s: %w", rule.Name, name(id.GVK.Kind, id.Namespace, id.Name), err)
			}
		}
	}
	return nil
}

// remove deletes one object of ours. All deletes go through here: the primary
// and the object are read live first, so that no stale cache decides, and the
// delete holds for exactly the state that was read.
func (p *pass) remove(ctx context.Context, k kind, o *object) error {
	if err := p.confirm(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	client := p.engine.resource(k, o.GetNamespace())
	live, err := client.Get(ctx, o.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	now := object{Unstructured: *live}
	if live.GetUID() != o.GetUID() || now.trackedBy() != p.req.UID || now.rule() != o.rule() {
		return errStale
	}
	if now.terminating() {
		return nil
	}
	uid, version, background := live.GetUID(), live.GetResourceVersion(), metav1.DeletePropagationBackground
	err = client.Delete(ctx, o.GetName(), metav1.DeleteOptions{
		Preconditions:     &metav1.Preconditions{UID: &uid, ResourceVersion: &version},
		PropagationPolicy: &background,
	})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case apierrors.IsConflict(err):
		return errStale // It changed between the read and the delete.
	case err != nil:
		return refused(err)
	}
	p.engine.metrics.writes.WithLabelValues("delete", k.gvk.Kind).Inc()
	p.pruned(k, live)
	return nil
}

// pruned tells people of a deletion.
func (p *pass) pruned(k kind, u *unstructured.Unstructured) {
	subject := name(k.gvk.Kind, u.GetNamespace(), u.GetName())
	p.engine.log.Info("pruned", "object", p.req.String(), "child", subject, "rule", u.GetLabels()[rules.LabelRule])
	p.engine.events.normal(p.self, reasonPruned, "deleted "+subject+", which is no longer rendered")
}

// confirm makes sure that what this pass was rendered from is the primary as
// it is now, once for the whole pass.
func (p *pass) confirm(ctx context.Context) error {
	if p.confirmed {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	live, err := p.engine.resource(p.cache.kind, p.req.Namespace).Get(ctx, p.req.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return errStale
	case err != nil:
		return fmt.Errorf("read %s: %w", p.req, err)
	case live.GetUID() != p.req.UID, live.GetDeletionTimestamp() != nil:
		return errStale
	case live.GetResourceVersion() != p.self.GetResourceVersion() && !sameIntent(live, &p.self.Unstructured):
		return errStale
	}
	p.confirmed = true
	return nil
}

// sameIntent reports whether two states of an object differ in nothing but
// what rules do not follow: metadata other than labels and annotations.
func sameIntent(a, b *unstructured.Unstructured) bool {
	return sameValue(intent(a), intent(b))
}

func intent(u *unstructured.Unstructured) map[string]any {
	rest := make(map[string]any, len(u.Object))
	for key, value := range u.Object {
		if key != "metadata" {
			rest[key] = value
		}
	}
	for key, value := range map[string]map[string]string{"labels": u.GetLabels(), "annotations": u.GetAnnotations()} {
		section := map[string]any{}
		for k, v := range value {
			if k != "kubectl.kubernetes.io/last-applied-configuration" {
				section[k] = v
			}
		}
		rest["metadata."+key] = section
	}
	return rest
}
