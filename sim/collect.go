package sim

import (
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// controllerManager is the client of the built-in controllers.
const controllerManager = "kube-controller-manager"

// finalize is the subresource through which the namespace controller releases a Namespace.
const finalize = "finalize"

// Collect runs the garbage collector, the namespace controller and the ones that delete finished Jobs and accept the
// names of CRDs until they have nothing left to do, and reports whether they did anything.
func (c *Cluster) Collect() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	q, before := &c.queue, c.version
	for key, at := range q.expiring {
		if !c.clock.Now().Before(at) {
			q.next[key] = struct{}{}
		}
	}
	for again := true; again; {
		start := c.version
		q.run(func(key objectKey) {
			if u := c.objects[key.kind][key.name]; u != nil {
				c.collect(u)
			}
		})
		again = c.version != start
	}
	return c.version != before
}

// collect does what is due for one object.
func (c *Cluster) collect(u *unstructured.Unstructured) {
	switch {
	case c.Kinds().of(u) == nil:
		return
	case isNamespace(u) && u.GetDeletionTimestamp() != nil && !c.emptied(u):
		return
	case waitsFor(u, metav1.FinalizerOrphanDependents):
		for _, dependent := range c.dependents(u) {
			c.disown(dependent, func(o metav1.OwnerReference) bool { return o.UID == u.GetUID() })
		}
		c.withoutFinalizer(u, metav1.FinalizerOrphanDependents)
		return
	case waitsFor(u, metav1.FinalizerDeleteDependents):
		c.foreground(u)
		return
	case waitsFor(u, cleanUpResources):
		c.cleanUpResources(u)
		return
	case u.GetDeletionTimestamp() != nil:
		return // Another client has to remove its finalizers.
	case c.expire(u):
		return
	case u.GroupVersionKind().GroupKind() == definitionKind && !isEstablished(u) && c.defines(u):
		c.edit(u, "status", func(next *unstructured.Unstructured) { c.subject(next).establish() })
		return // It is collected in the next round.
	}
	c.byOwners(u)
}

// Uncollected returns the last write of the garbage collector and the namespace controller
// if it was rejected, or nil. They repeat it until the object changes.
func (c *Cluster) Uncollected() *Write {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range slices.Backward(c.writes) {
		if w.By == controllerManager {
			if w.Err == nil {
				return nil
			}
			return &w
		}
	}
	return nil
}

// waitsFor reports whether an object is being deleted and has the finalizer.
func waitsFor(u *unstructured.Unstructured, finalizer string) bool {
	return u.GetDeletionTimestamp() != nil && slices.Contains(u.GetFinalizers(), finalizer)
}

// foreground finishes a foreground deletion when no dependent blocks it.
func (c *Cluster) foreground(u *unstructured.Unstructured) {
	blocked := false
	for _, d := range c.dependents(u) {
		for _, o := range d.GetOwnerReferences() {
			blocked = blocked || o.UID == u.GetUID() && o.BlockOwnerDeletion != nil && *o.BlockOwnerDeletion
		}
		if d.GetDeletionTimestamp() == nil || !waitsFor(d, metav1.FinalizerDeleteDependents) {
			c.byOwners(d)
		}
	}
	if !blocked {
		c.withoutFinalizer(u, metav1.FinalizerDeleteDependents)
	}
}

// byOwners deletes an object whose owners are all deleted or being deleted. If there are
// others, it removes the references to deleted ones.
func (c *Cluster) byOwners(u *unstructured.Unstructured) {
	if u.GetDeletionTimestamp() != nil && !waitsFor(u, metav1.FinalizerDeleteDependents) {
		return
	}
	owners := u.GetOwnerReferences()
	if len(owners) == 0 {
		return
	}
	var solid, waiting int
	gone := map[types.UID]bool{}
	for _, o := range owners {
		switch c.owner(u, o) {
		case ownerThere, ownerUnknown:
			solid++
		case ownerWaits:
			waiting++
			gone[o.UID] = true
		case ownerGone:
			gone[o.UID] = true
		}
	}
	policy := metav1.DeletePropagationBackground
	switch {
	case solid > 0:
		c.disown(u, func(o metav1.OwnerReference) bool { return gone[o.UID] })
		return
	case waiting > 0 && len(c.dependents(u)) > 0, slices.Contains(u.GetFinalizers(), metav1.FinalizerDeleteDependents):
		policy = metav1.DeletePropagationForeground
	case slices.Contains(u.GetFinalizers(), metav1.FinalizerOrphanDependents):
		policy = metav1.DeletePropagationOrphan
	}
	c.remove(u, policy)
}

// An ownership is the state of an owner.
type ownership int

const (
	ownerThere   ownership = iota
	ownerUnknown           // its kind is unknown, so that nothing may be deleted
	ownerGone
	ownerWaits // it is being deleted and waits for its dependents
)

func (c *Cluster) owner(u *unstructured.Unstructured, o metav1.OwnerReference) ownership {
	k := c.Kinds().Kind(runtimeschema.FromAPIVersionAndKind(o.APIVersion, o.Kind))
	if k == nil || k.Namespaced && u.GetNamespace() == "" {
		return ownerUnknown
	}
	namespace := ""
	if k.Namespaced {
		namespace = u.GetNamespace()
	}
	switch owner := c.load(k.GVK.GroupKind(), namespace, o.Name); {
	case owner == nil || owner.GetUID() != o.UID:
		return ownerGone
	case waitsFor(owner, metav1.FinalizerDeleteDependents):
		return ownerWaits
	}
	return ownerThere
}

// dependents returns the objects that have an object as an owner.
func (c *Cluster) dependents(u *unstructured.Unstructured) (all []*unstructured.Unstructured) {
	for _, d := range c.inOrder(c.queue.dependents[u.GetUID()]) {
		if c.Kinds().of(d) != nil {
			all = append(all, d)
		}
	}
	return all
}

// disown removes owner references.
func (c *Cluster) disown(u *unstructured.Unstructured, which func(metav1.OwnerReference) bool) {
	if slices.ContainsFunc(u.GetOwnerReferences(), which) {
		c.edit(u, "", func(next *unstructured.Unstructured) {
			next.SetOwnerReferences(itemsWithout(next.GetOwnerReferences(), which))
		})
	}
}

func (c *Cluster) withoutFinalizer(u *unstructured.Unstructured, finalizer string) {
	c.edit(u, "", func(next *unstructured.Unstructured) {
		next.SetFinalizers(itemsWithout(next.GetFinalizers(), func(f string) bool { return f == finalizer }))
	})
}

// itemsWithout returns the items that are not dropped, or nil if all are. A field that is
// set to nil is absent.
func itemsWithout[T any](all []T, dropped func(T) bool) (rest []T) {
	for _, item := range all {
		if !dropped(item) {
			rest = append(rest, item)
		}
	}
	return rest
}

// edit changes an object, or its subresource, as a controller does.
func (c *Cluster) edit(u *unstructured.Unstructured, subresource string, change func(*unstructured.Unstructured)) {
	next := u.DeepCopy()
	change(next)
	r := c.internal(u, subresource)
	_, err := r.logged("update", func() (*unstructured.Unstructured, error) { return r.update(next) })
	c.queue.failed = c.queue.failed || err != nil
}

// remove deletes an object as a controller does.
func (c *Cluster) remove(u *unstructured.Unstructured, policy metav1.DeletionPropagation) {
	r, uid := c.internal(u, ""), u.GetUID()
	_, err := r.logged("delete", func() (*unstructured.Unstructured, error) {
		return nil, r.delete(metav1.DeleteOptions{PropagationPolicy: &policy,
			Preconditions: &metav1.Preconditions{UID: &uid}})
	})
	c.queue.failed = c.queue.failed || err != nil
}

// internal returns a request of a controller.
func (c *Cluster) internal(u *unstructured.Unstructured, subresource string) *request {
	return &request{cluster: c, kind: c.Kinds().of(u), namespace: u.GetNamespace(), name: u.GetName(),
		subresource: subresource, by: controllerManager, manager: controllerManager}
}

// emptied deletes the content of a namespace that is being deleted, and then releases the
// namespace. It reports whether the namespace is empty.
func (c *Cluster) emptied(namespace *unstructured.Unstructured) bool {
	left := false
	for _, u := range c.inOrder(c.queue.inNamespace[namespace.GetName()]) {
		if c.Kinds().of(u) == nil {
			continue
		}
		if u.GetDeletionTimestamp() == nil {
			c.remove(u, metav1.DeletePropagationBackground)
		}
		left = left || c.load(u.GroupVersionKind().GroupKind(), u.GetNamespace(), u.GetName()) != nil
	}
	if left {
		return false
	}
	if holdsContent(namespace) {
		c.edit(namespace, finalize, func(next *unstructured.Unstructured) {
			unstructured.RemoveNestedField(next.Object, "spec", "finalizers")
		})
	}
	return true
}

func sameObject(a, b *unstructured.Unstructured) bool { return reflect.DeepEqual(a.Object, b.Object) }
