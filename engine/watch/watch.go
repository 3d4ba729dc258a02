package watch

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"reconcel/engine/discover"
	"reconcel/rules"
)

// A Role is what the objects of a watch are to the rules.
type Role int

// The roles.
const (
	Primary Role = iota // rules select them
	Child               // rules render them
	Lookup              // rules read them, whoever owns them
)

// String returns the role as metrics show it.
func (r Role) String() string { return [...]string{"primary", "child", "lookup"}[r] }

// A Key identifies a watch. Objects that are primaries and children at once have
// two watches, since the roles differ in what is cached and who is notified.
type Key struct {
	GVK      schema.GroupVersionKind
	Selector string // of labels; "": all objects
	Role     Role
}

// A Watch is the cache of one kind in one role.
type Watch struct {
	Key

	onChange func(*Object)
	onListed func()

	cache   atomic.Pointer[Cache]
	listing atomic.Pointer[Cache] // likewise, from before its first list
	problem atomic.Pointer[error] // why the kind cannot be watched

	readers readers

	stop context.CancelFunc // set by Watcher.Start
}

// New returns a watch that does not run yet.
func New(key Key) *Watch { return &Watch{Key: key} }

// Notify sets the handlers of a watch, before it runs: onChange hears of each
// object that is added, changed or deleted, and onListed of each completed list.
// Only the first call has an effect, since the watch may run by the second.
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

// ErrNotListed says that a list is still under way.
var ErrNotListed = errors.New("not listed yet")

// Problems returns why the watch is not complete: one error for the kind, or one
// for each namespace that is not listed.
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

// Pending reports whether the watch may be complete in a moment. A kind that is
// not served, or a missing permission, needs somebody to change it.
func (w *Watch) Pending() bool {
	return slices.ContainsFunc(w.Problems(), func(err error) bool { return !discover.IsUnwatchable(err) && !apierrors.IsForbidden(err) })
}

// Fail notes why the kind cannot be watched.
func (w *Watch) Fail(err error) { w.problem.Store(&err) }

// byOwner is the index of children by the UID of their primary.
const byOwner = "owner"

func (w *Watch) indexers() cache.Indexers {
	if w.Role == Lookup {
		return cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
	}
	return cache.Indexers{byOwner: func(item any) ([]string, error) {
		if uid := item.(*Object).OwnerUID(); uid != "" {
			return []string{string(uid)}, nil
		}
		return nil, nil
	}}
}

// tweakList narrows requests to the selector. It also keeps client-go from
// falling back to a list of resourceVersion "0", which may be arbitrarily old.
func (w *Watch) tweakList(o *metav1.ListOptions) {
	o.LabelSelector = w.Selector
	if o.ResourceVersion == "0" {
		o.ResourceVersion = ""
	}
}

func (w *Watch) transform(item any) (any, error) {
	u, ok := item.(*unstructured.Unstructured)
	if !ok {
		return item, nil // An Object, or the last state of a deleted one.
	}
	return NewObject(u, w.Role), nil
}

func (w *Watch) changed(item any) {
	if o, ok := item.(*Object); ok {
		w.onChange(o)
	}
}

// updated reports the old state too, if it may concern somebody whom the new one
// does not.
func (w *Watch) updated(old, now *Object) {
	if w.Role == Lookup {
		if old.GetResourceVersion() == now.GetResourceVersion() {
			return // It was only listed again.
		}
		if !maps.Equal(rules.LabelsOf(old.content), rules.LabelsOf(now.content)) {
			w.onChange(old)
		}
	} else if old.OwnerUID() != now.OwnerUID() {
		w.onChange(old)
	}
	w.onChange(now)
}
