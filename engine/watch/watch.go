package watch

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"reconcel/engine/discover"
	"reconcel/rules/projection"
)

// A Role is the relation of a watch's objects to the rules.
type Role int

// The roles.
const (
	Primary Role = iota // rules select them
	Child               // rules render them
	Lookup              // rules read them, no matter who owns them
)

// String returns the role as it appears in metrics.
func (r Role) String() string { return [...]string{"primary", "child", "lookup"}[r] }

// A Key identifies a watch. Objects that are both primaries and children have two
// watches, because the roles differ in the cached fields and in the handlers.
type Key struct {
	GVK      schema.GroupVersionKind
	Selector string // label selector; empty: all objects
	Role     Role
	// Namespace is the only watched one; empty: those of the scope.
	Namespace string
}

// ScopeIn returns the namespaces of the watch.
func (k Key) ScopeIn(all Scope) Scope {
	if k.Namespace != "" {
		return Scope{k.Namespace}
	}
	return all
}

// A Watch is the cache of one kind in one role.
type Watch struct {
	Key
	reads *projection.Projection

	onChange func(*Object)
	onListed func()

	cache   atomic.Pointer[Cache]
	listing atomic.Pointer[Cache] // the same cache, set before its first list
	problem atomic.Pointer[error] // why the kind cannot be watched

	readers readers

	stop context.CancelFunc // set by Watcher.Start
}

// New returns a watch that does not run yet. reads are the fields that it caches.
func New(key Key, reads *projection.Projection) *Watch { return &Watch{Key: key, reads: reads} }

// Covers reports whether the watch caches all these fields.
func (w *Watch) Covers(reads *projection.Projection) bool { return w.reads.Covers(reads) }

// Cached returns the fields of an object that the watch caches, as a copy.
func (w *Watch) Cached(object map[string]any) map[string]any { return w.reads.OfMap(object) }

// Notify sets the handlers of a watch before it runs. onChange is called for each
// object that is added, changed or deleted, onListed for each completed list. Only the
// first call has an effect, because the watch may already run at the second.
func (w *Watch) Notify(onChange func(*Object), onListed func()) {
	if w.onChange == nil {
		w.onChange, w.onListed = onChange, onListed
	}
}

// Replay calls the change handler with each cached object.
func (w *Watch) Replay() {
	if c := w.cache.Load(); c != nil {
		for o := range c.All() {
			w.onChange(o)
		}
	}
}

// Stop ends the watch.
func (w *Watch) Stop() { w.stop() }

// ErrNotListed means that a list is not complete yet.
var ErrNotListed = errors.New("not listed yet")

// Problems returns why the watch is not complete: one error for the kind, or one for
// each namespace that is not listed.
func (w *Watch) Problems() (all []error) {
	if err := w.problem.Load(); err != nil {
		return []error{*err}
	}
	c := w.listing.Load()
	if c == nil {
		c = w.cache.Load()
	}
	if c == nil {
		return []error{ErrNotListed}
	}
	for _, n := range c.namespaces {
		if err := n.problem.Load(); err != nil {
			all = append(all, *err)
		}
	}
	return all
}

// failingPatience is how long a first list is waited for that the API server cannot answer.
// Those of an API server that starts, or whose etcd elects a leader, end sooner.
const failingPatience = 2 * time.Second

// Pending reports whether others should wait longer for the first list of the watch. They have
// waited for some time. Nobody waits for a kind that is not served or unavailable, or for a
// missing permission: the user must act first.
func (w *Watch) Pending(waited time.Duration) bool {
	return slices.ContainsFunc(w.Problems(), func(err error) bool {
		if discover.IsUnwatchable(err) || discover.IsUnavailable(err) || apierrors.IsForbidden(err) {
			return false
		}
		_, failing := errors.AsType[*apierrors.StatusError](err)
		return !failing && !errors.Is(err, errUnanswered) || waited < failingPatience
	})
}

// Fail records why the kind cannot be watched.
func (w *Watch) Fail(err error) { w.problem.Store(&err) }

// byOwner is the index of children by the UID of their primary.
const byOwner = "owner"

func (w *Watch) indexers() cache.Indexers {
	if w.Role == Lookup {
		return cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
	}
	return cache.Indexers{byOwner: func(item any) ([]string, error) { return item.(*Object).ownerUIDs(), nil }}
}

// tweakList restricts requests to the selector. It also prevents client-go's fallback
// to a list with resourceVersion "0", which may be arbitrarily old. A resumed watch is
// short; one that begins with a list may need its time.
func (w *Watch) tweakList(o *metav1.ListOptions) {
	o.LabelSelector = w.Selector
	if o.TimeoutSeconds != nil && o.SendInitialEvents == nil {
		o.TimeoutSeconds = new(renewalTime())
	}
	if o.ResourceVersion == "0" {
		o.ResourceVersion = ""
	}
}
