package sim

import (
	"cmp"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// A keySet is a set of names of objects.
type keySet map[objectKey]struct{}

// A queue holds the objects that the built-in controllers have to look at: those that changed, and those for which the
// change of another one matters. Controllers look at them in rounds, each in the order of kinds and names. They look
// at an object that changes in a round in the next round.
type queue struct {
	round  []objectKey // sorted
	next   keySet
	at     *objectKey // the one that they look at; nil: they are idle
	failed bool       // a write for it failed, and is repeated in the next round

	// What leads from one object to others.
	byUID       map[types.UID]objectKey
	dependents  map[types.UID]keySet
	inNamespace map[string]keySet
	expiring    map[objectKey]time.Time
}

func newQueue() queue {
	return queue{next: keySet{}, byUID: map[types.UID]objectKey{}, dependents: map[types.UID]keySet{},
		inNamespace: map[string]keySet{}, expiring: map[objectKey]time.Time{}}
}

func compareKeys(a, b objectKey) int {
	return cmp.Or(compareKinds(a.kind, b.kind), compareNames(a.name, b.name))
}

func compareKinds(a, b runtimeschema.GroupKind) int {
	return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind))
}

func compareNames(a, b types.NamespacedName) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

func keyOf(u *unstructured.Unstructured) objectKey {
	return objectKey{u.GroupVersionKind().GroupKind(), nameOf(u)}
}

// follow notes a change of an object, and adds the object and those for which the change matters.
func (c *Cluster) follow(key objectKey, before, after *unstructured.Unstructured) {
	q := &c.queue
	if before != nil {
		q.forget(key, before)
	}
	if i, waits := slices.BinarySearchFunc(q.round, key, compareKeys); waits {
		q.round = slices.Delete(q.round, i, i+1)
	}
	delete(q.next, key)
	if after != nil {
		q.remember(key, after)
		q.next[key] = struct{}{}
	}
	if before == nil {
		return
	}
	for _, o := range before.GetOwnerReferences() {
		if owner, known := q.byUID[o.UID]; known && c.isDeleting(owner) {
			q.add(owner)
		}
	}
	if after == nil || waitsFor(after, metav1.FinalizerDeleteDependents) {
		for dependent := range q.dependents[before.GetUID()] {
			q.add(dependent)
		}
	}
	if after != nil {
		return
	}
	if namespace := (objectKey{namespaceKind, types.NamespacedName{Name: key.name.Namespace}}); c.isDeleting(namespace) {
		q.add(namespace)
	}
	for name := range c.objects[definitionKind] {
		if definition := (objectKey{definitionKind, name}); c.isDeleting(definition) {
			q.add(definition)
		}
	}
}

func (c *Cluster) isDeleting(key objectKey) bool {
	u := c.objects[key.kind][key.name]
	return u != nil && u.GetDeletionTimestamp() != nil
}

// add adds an object to this round, if it is not over for the object, or to the next one.
func (q *queue) add(key objectKey) {
	if _, waits := q.next[key]; waits {
		return
	}
	i, waits := slices.BinarySearchFunc(q.round, key, compareKeys)
	switch {
	case waits:
	case q.at != nil && compareKeys(key, *q.at) > 0:
		q.round = slices.Insert(q.round, i, key)
	default:
		q.next[key] = struct{}{}
	}
}

// run runs one round.
func (q *queue) run(look func(objectKey)) {
	q.round, q.next = slices.SortedFunc(maps.Keys(q.next), compareKeys), keySet{}
	for len(q.round) > 0 {
		key := q.round[0]
		q.at, q.round, q.failed = &key, q.round[1:], false
		look(key)
		if q.failed {
			q.next[key] = struct{}{}
		}
	}
	q.at = nil
}

func (q *queue) remember(key objectKey, u *unstructured.Unstructured) {
	q.byUID[u.GetUID()] = key
	for _, o := range u.GetOwnerReferences() {
		insert(q.dependents, o.UID, key)
	}
	if key.name.Namespace != "" {
		insert(q.inNamespace, key.name.Namespace, key)
	}
	if at := expiry(u); !at.IsZero() {
		q.expiring[key] = at
	}
}

func (q *queue) forget(key objectKey, u *unstructured.Unstructured) {
	if uid := u.GetUID(); q.byUID[uid] == key {
		delete(q.byUID, uid)
	}
	for _, o := range u.GetOwnerReferences() {
		remove(q.dependents, o.UID, key)
	}
	remove(q.inNamespace, key.name.Namespace, key)
	delete(q.expiring, key)
}

func insert[K comparable](sets map[K]keySet, of K, key objectKey) {
	if sets[of] == nil {
		sets[of] = keySet{}
	}
	sets[of][key] = struct{}{}
}

func remove[K comparable](sets map[K]keySet, of K, key objectKey) {
	delete(sets[of], key)
	if len(sets[of]) == 0 {
		delete(sets, of)
	}
}

// inOrder returns the stored objects of a set by kind, namespace and name.
func (c *Cluster) inOrder(set keySet) []*unstructured.Unstructured {
	out := make([]*unstructured.Unstructured, 0, len(set))
	for _, key := range slices.SortedFunc(maps.Keys(set), compareKeys) {
		out = append(out, c.objects[key.kind][key.name])
	}
	return out
}
