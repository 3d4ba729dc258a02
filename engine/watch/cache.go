package watch

import (
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"reconcel/engine/discover"
	"reconcel/engine/managedfields"
	"reconcel/rules"
)

// A Scope is the list of watched namespaces; an empty one is the whole cluster.
type Scope []string

// Contains reports whether a namespace is watched.
func (s Scope) Contains(namespace string) bool { return len(s) == 0 || slices.Contains(s, namespace) }

// OutsideError returns the error for a namespace that is not watched.
func (s Scope) OutsideError(namespace string) error {
	return fmt.Errorf("namespace %q is not one of those that reconcel watches: %s", namespace, strings.Join(s, ", "))
}

// Namespaces returns the namespaces to list one by one; "" lists all at once.
func (s Scope) Namespaces() []string {
	if len(s) == 0 {
		return []string{metav1.NamespaceAll}
	}
	return s
}

// Cache returns the cache, or the reason why nothing is cached.
func (w *Watch) Cache() (*Cache, error) {
	if c := w.cache.Load(); c != nil {
		return c, nil
	}
	if all := w.Problems(); len(all) > 0 {
		return nil, all[0]
	}
	return nil, ErrNotListed
}

// A Cache holds the objects of a watch while the API server serves the kind. At
// least one of its namespaces is listed.
type Cache struct {
	kind       discover.Kind
	namespaces []*namespaced
	ownership  atomic.Pointer[discover.Ownership] // nil if not known yet
	end        func()                             // to call when the kind is removed or has changed
}

// Kind returns the kind of the objects.
func (c *Cache) Kind() discover.Kind { return c.kind }

// Conditions returns the list type of the conditions of a primary's kind; ok is false until
// the API server has published the schema.
func (c *Cache) Conditions() (list discover.ConditionList, ok bool) {
	known := c.ownership.Load()
	if known == nil {
		return list, false
	}
	return known.Conditions, true
}

// HasConditionField reports whether a condition of a primary's kind can have a field.
func (c *Cache) HasConditionField(name string) bool {
	known := c.ownership.Load()
	return known == nil || known.ConditionFields == nil || slices.Contains(known.ConditionFields, name)
}

// Granular returns the granular fields of a custom kind, or nil until they are known. It is another
// one when the schema has changed.
func (c *Cache) Granular() *managedfields.Granular {
	known := c.ownership.Load()
	if known == nil {
		return nil
	}
	return known.Granular
}

// Get returns an object, or nil if the cache has none. Cluster-scoped objects have the
// namespace "". If listed is false, the object is unknown, not absent.
func (c *Cache) Get(namespace, name string) (o *Object, listed bool) {
	n := c.namespace(namespace)
	if n == nil {
		return nil, false
	}
	listed = n.listed() // Before the object: the list may complete in between.
	key := name
	if namespace != "" {
		key = namespace + "/" + name
	}
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

// UnlistedFor returns why the cache may lack objects that a rule created for a
// primary in a namespace, or nil. It checks that namespace and those that the rule
// may write to.
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

// A namespaced cache holds the objects of one namespace, or of the whole cluster.
type namespaced struct {
	namespace string // "": all
	content   atomic.Pointer[content]
	problem   atomic.Pointer[error] // why it is not listed yet; nil if it is
	stale     atomic.Pointer[error] // why the last list or watch failed; the objects may be out of date
	refusal   refusal               // the logging of stale
	term      *term                 // the last watch; nil before the first one
}

// content is the result of one list and of the watch after it.
type content struct {
	objects cache.Indexer
	since   time.Time
}

func newNamespaced(namespace string, w *Watch) *namespaced {
	n := &namespaced{namespace: namespace}
	n.fill(cache.NewIndexer(cache.MetaNamespaceKeyFunc, w.indexers()))
	err := ErrNotListed
	n.problem.Store(&err)
	return n
}

// fill replaces the objects. It returns the previous ones, if they were listed.
func (n *namespaced) fill(objects cache.Indexer) (before cache.Indexer) {
	old := n.content.Swap(&content{objects, time.Now()})
	if n.problem.Swap(nil) != nil || old == nil {
		return nil
	}
	return old.objects
}

// lacks records why the objects are not listed yet, and reports whether that differs from the previous reason. Objects
// that are listed stay so, even if fill is called at the same time.
func (n *namespaced) lacks(why error) (listed, news bool) {
	for {
		old := n.problem.Load()
		switch {
		case old == nil:
			return true, false
		case isSame(*old, why):
			return false, false
		case n.problem.CompareAndSwap(old, &why):
			return false, true
		}
	}
}

func (n *namespaced) objects() cache.Indexer { return n.content.Load().objects }

func (n *namespaced) listed() bool { return n.problem.Load() == nil }

// outOfDate returns why the cache may not be up to date, or nil.
func (n *namespaced) outOfDate() error {
	for _, problem := range []*error{n.problem.Load(), n.stale.Load()} {
		if problem != nil {
			return *problem
		}
	}
	return nil
}

func (n *namespaced) logger(log *slog.Logger) *slog.Logger {
	if n.namespace == "" {
		return log
	}
	return log.With("namespace", n.namespace)
}
