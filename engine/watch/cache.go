package watch

import (
	"iter"
	"sync/atomic"

	"reconcel/engine/discover"
	"reconcel/rules"
)

// A Cache holds the objects of a watch while the API server serves the kind. At
// least one of its namespaces is listed.
type Cache struct {
	kind       discover.Kind
	namespaces []*namespaced
	conditions atomic.Pointer[discover.ConditionList] // nil: not known yet
	end        func()                                 // the kind is gone, or has changed
}

// Kind returns the kind of the objects.
func (c *Cache) Kind() discover.Kind { return c.kind }

// Conditions returns the list type of the kind's conditions; ok is false until
// the API server has published the schema.
func (c *Cache) Conditions() (list discover.ConditionList, ok bool) {
	known := c.conditions.Load()
	if known == nil {
		return list, false
	}
	return *known, true
}

// Get returns an object, or nil if there is none. Cluster-scoped objects have the
// namespace "". The object is unknown, and not absent, unless listed.
func (c *Cache) Get(namespace, name string) (o *Object, listed bool) {
	n := c.namespace(namespace)
	if n == nil {
		return nil, false
	}
	key := name
	if namespace != "" {
		key = namespace + "/" + name
	}
	listed = n.listed() // Before the object: a list may end in between.
	item, _, _ := n.objects().GetByKey(key)
	o, _ = item.(*Object)
	return o, listed
}

// All returns the objects of all listed namespaces.
func (c *Cache) All() iter.Seq[*Object] {
	return func(yield func(*Object) bool) {
		for _, n := range c.namespaces {
			for _, item := range n.objects().List() {
				if !yield(item.(*Object)) {
					return
				}
			}
		}
	}
}

// OwnedBy returns the objects in all listed namespaces that belong to a primary.
func (c *Cache) OwnedBy(primary rules.Owner) iter.Seq[*Object] {
	return func(yield func(*Object) bool) {
		for _, n := range c.namespaces {
			owned, _ := n.objects().ByIndex(byOwner, string(primary.UID)) // Its only error is an unknown index.
			for _, item := range owned {
				if o := item.(*Object); o.BelongsTo(primary) && !yield(o) {
					return
				}
			}
		}
	}
}

// CaughtUp reports whether the cache has reached a resourceVersion of an object
// in a namespace.
func (c *Cache) CaughtUp(namespace, version string) bool {
	n := c.namespace(namespace)
	if n == nil {
		return false
	}
	last := n.objects().LastStoreSyncResourceVersion()
	return last != "" && !olderVersion(last, version)
}

// Unlisted returns why a namespace is not listed, or nil if all are.
func (c *Cache) Unlisted() error { return c.unlisted(func(string) bool { return true }) }

// UnlistedFor returns why the cache may lack objects that a rule has made for a
// primary in a namespace, or nil. It looks at that namespace and at those into
// which the rule may write.
func (c *Cache) UnlistedFor(rule *rules.Rule, namespace string) error {
	return c.unlisted(func(other string) bool { return other == namespace || rule.AllowsNamespace(other) })
}

func (c *Cache) unlisted(matters func(namespace string) bool) error {
	for _, n := range c.namespaces {
		if problem := n.problem.Load(); problem != nil && matters(n.namespace) {
			return *problem
		}
	}
	return nil
}

// Listed returns the number of namespaces that are listed.
func (c *Cache) Listed() (number int) {
	for _, n := range c.namespaces {
		if n.listed() {
			number++
		}
	}
	return number
}

// namespace returns the namespaced cache of a namespace, or nil if it is not
// watched.
func (c *Cache) namespace(name string) *namespaced {
	for _, n := range c.namespaces {
		if n.namespace == "" || n.namespace == name {
			return n
		}
	}
	return nil
}
