package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/engine/managedfields"
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

// prune deletes the children of one rule that no rule of the primary renders,
// as far as that is known of each: what a child waits for keeps no object of
// another. What stays is noted. An object that cannot be deleted keeps nothing
// else.
func (p *pass) prune(ctx context.Context, r *rules.RuleResult, why cause) (failed error) {
	for _, w := range p.primary.watchesOf(r.Rule) {
		c := w.cached.Load()
		if c == nil {
			continue // A kind of former rules that the API server does not know.
		}
		for _, item := range p.objectsOf(c) {
			o := item.(*object)
			id := o.identity(c.kind.GVK)
			if o.rule() != r.Rule.Name || o.terminating() || p.memory.hasDeleted(o.GetUID()) || p.wants(id) || p.engine.elsewhere(o, p.verdict.ownersOf(r.Rule.Name)) {
				continue
			}
			if stay := p.staying(r, o, id, why); stay.why != "" {
				p.kept = append(p.kept, stay)
				continue
			}
			if err := p.remove(ctx, r.Rule, c.kind, o); err != nil {
				failed = cmp.Or(failed, fmt.Errorf("rule %q: prune %s: %w", r.Rule.Name, id.String(), err))
			}
		}
	}
	return failed
}

// remove deletes one object of a rule that the primary has no more use for.
func (p *pass) remove(ctx context.Context, rule *rules.Rule, k Kind, o *object) error {
	deleted, err := p.take(ctx, rule, k, o, metav1.DeletePropagationBackground)
	if deleted != nil {
		p.pruned(k, deleted)
	}
	return err
}

// take deletes one object of a rule after the primary was read live, so that no
// stale cache decides. It returns what was deleted, if anything was.
func (p *pass) take(ctx context.Context, rule *rules.Rule, k Kind, o *object, policy metav1.DeletionPropagation) (*unstructured.Unstructured, error) {
	if err := p.confirm(ctx); err != nil {
		return nil, err
	}
	deleted, err := p.engine.discard(ctx, p.engine.writer(rule, p.req, k, o.GetNamespace()), k, o, p.req, policy)
	if err != nil {
		return nil, err
	}
	version := o.GetResourceVersion()
	if deleted != nil {
		version = deleted.GetResourceVersion()
	}
	p.memory.noteDeletion(o.GetUID(), deletion{identity: o.identity(k.GVK), version: version})
	return deleted, nil
}

// discard deletes one object that belongs to an owner. All deletes go through
// here, and whoever calls it has read the owner live: the object is read live
// first, and the delete holds for exactly the state that was read.
func (e *Engine) discard(ctx context.Context, by deleter, k Kind, o *object, owner Request, policy metav1.DeletionPropagation) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	live, err := e.resource(k, o.GetNamespace()).Get(ctx, o.GetName(), metav1.GetOptions{})
	if isAbsent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	now := newObject(live, childRole)
	if live.GetUID() != o.GetUID() || !now.belongsTo(owner) || now.rule() != o.rule() || now.orphan() != o.orphan() || now.installation() != o.installation() {
		return nil, errStale
	}
	if now.terminating() {
		return nil, nil
	}
	uid, version := live.GetUID(), live.GetResourceVersion()
	err = by.Delete(ctx, o.GetName(), metav1.DeleteOptions{
		Preconditions:     &metav1.Preconditions{UID: &uid, ResourceVersion: &version},
		PropagationPolicy: &policy,
	})
	switch {
	case isAbsent(err):
		return nil, nil
	case apierrors.IsConflict(err):
		return nil, errStale // It changed between the read and the delete.
	case err != nil:
		return nil, refused(err)
	}
	e.metrics.writes.WithLabelValues("delete", k.GVK.Kind).Inc()
	return live, nil
}

// An objectKey names an object in all versions of its kind.
type objectKey struct {
	kind            schema.GroupKind
	namespace, name string
}

// wants reports whether any rule renders the object for this primary, or would
// if it could, in whichever version of its kind: all versions show the same
// objects.
func (p *pass) wants(id rules.Identity) bool {
	if p.wanted != nil {
		return p.wanted[keyOf(id)]
	}
	if len(p.memory.children) > few {
		p.wanted = map[objectKey]bool{}
	}
	for i := range p.rendering.Rules {
		for j := range p.rendering.Rules[i].Children {
			c := &p.rendering.Rules[i].Children[j]
			switch {
			case p.wanted != nil:
				eachWanted(c, func(id rules.Identity) bool {
					p.wanted[keyOf(id)] = true
					return true
				})
			case wantsObject(c, id):
				return true
			}
		}
	}
	return p.wanted[keyOf(id)]
}

func keyOf(id rules.Identity) objectKey {
	return objectKey{id.GVK.GroupKind(), id.Namespace, id.Name}
}

func wantsObject(c *rules.ChildResult, id rules.Identity) bool {
	found, key := false, keyOf(id)
	eachWanted(c, func(other rules.Identity) bool {
		found = keyOf(other) == key
		return !found
	})
	return found
}

// mostFinished is how many replicas that have ended are kept to be looked at.
const mostFinished = 5

// eachWanted calls f for every object of a child that is to exist or to be
// kept, until f says no.
func eachWanted(c *rules.ChildResult, f func(rules.Identity) bool) {
	for i := range c.Objects {
		if d := &c.Objects[i]; d.State != rules.Excluded && !f(d.Identity) {
			return
		}
	}
	for i := range min(len(c.Finished), mostFinished) {
		o := object{Unstructured: unstructured.Unstructured{Object: c.Finished[i].Object}}
		if !f(o.identity(c.Child.GVK)) {
			return
		}
	}
}

// pruned tells people of a deletion.
func (p *pass) pruned(k Kind, u *unstructured.Unstructured) {
	subject := name(k.GVK.Kind, u.GetNamespace(), u.GetName())
	why := whyUnrendered
	if !p.matches() {
		why = whyDeselected
	}
	p.engine.told(Deleted, p.req, subject, u.GetLabels()[rules.LabelRule], k, why)
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
	case live.GetUID() != p.req.UID, (live.GetDeletionTimestamp() != nil) != p.self.terminating():
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
	return managedfields.EqualValues(intent(a), intent(b))
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
