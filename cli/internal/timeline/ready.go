package timeline

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules"
	"reconcel/rules/schema"
)

// A due object becomes ready at a time.
type due struct {
	object *unstructured.Unstructured
	at     time.Duration
}

// unready returns the objects that have changed since they became ready.
func (p *player) unready() (all []due) {
	for _, u := range p.world.Objects() {
		generation, before := p.ready[u.GetUID()]
		if before && generation == u.GetGeneration() || p.hasOtherController(u) {
			continue
		}
		all = append(all, due{u, p.changed(u) + readyAfter})
	}
	return all
}

// hasOtherController reports whether an object does not become ready by itself: the rules
// write its status, or it has none.
func (p *player) hasOtherController(u *unstructured.Unstructured) bool {
	gvk := u.GroupVersionKind()
	kind := p.Kinds.Kind(gvk)
	return kind == nil || !kind.Status || u.GetDeletionTimestamp() != nil ||
		p.isPrimary(gvk.GroupKind()) && !schema.BuiltInGroup(gvk.Group)
}

// isPrimary reports whether rules are for a kind.
func (p *player) isPrimary(gk runtimeschema.GroupKind) bool {
	return slices.ContainsFunc(p.Program.Primaries(),
		func(of *rules.Primary) bool { return of.GVK.GroupKind() == gk })
}

// changed returns when the desired state of an object changed last.
func (p *player) changed(u *unstructured.Unstructured) time.Duration {
	for _, c := range p.world.Changes() {
		if c.New != nil && c.New.GetUID() == u.GetUID() && c.New.GetGeneration() == u.GetGeneration() {
			return c.At.Sub(p.start)
		}
	}
	return 0
}

// markReady writes the status that the object's own controller writes when all is well.
func (p *player) markReady(u *unstructured.Unstructured) error {
	p.ready[u.GetUID()] = u.GetGeneration()
	return p.world.Cluster().MarkReady(u.GroupVersionKind(), u.GetNamespace(), u.GetName())
}
