package watch

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	"reconcel/engine/discover"
	"reconcel/rules"
)

// A Feed fills the cache of a watch by hand.
type Feed struct {
	Watch    *Watch
	cache    *Cache
	selector labels.Selector
}

// A List calls visit for each object of a cluster, and returns the resourceVersion of
// the cluster.
type List func(visit func(*unstructured.Unstructured) error) (version string, err error)

// NewFeed gives a watch a cache with those of the listed objects that the watch selects.
// The objects are copied.
func NewFeed(w *Watch, k discover.Kind, ownership discover.Ownership, scope Scope, list List) (*Feed, error) {
	selector, err := labels.Parse(w.Selector)
	if err != nil {
		return nil, fmt.Errorf("selector of %s: %w", k.GVK.Kind, err)
	}
	f := &Feed{Watch: w, cache: &Cache{kind: k, end: func() {}}, selector: selector}
	for _, namespace := range scope.Namespaces() {
		n := newNamespaced(namespace, w)
		n.fill(n.objects())
		f.cache.namespaces = append(f.cache.namespaces, n)
	}
	f.cache.ownership.Store(&ownership)
	version, err := list(func(u *unstructured.Unstructured) error {
		if o := f.shown(u); o != nil {
			return f.store(o).Add(o)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	f.bookmark(version)
	w.cache.Store(f.cache)
	return f, nil
}

// Observe reports one change to the watch: old is nil if the object was added, now is
// nil if it was deleted. version is the current resourceVersion of the cluster. The
// objects are copied.
func (f *Feed) Observe(old, now *unstructured.Unstructured, version string) error {
	if err := f.observe(f.shown(old), f.shown(now)); err != nil {
		return err
	}
	f.bookmark(version)
	return nil
}

func (f *Feed) observe(old, now *Object) error {
	switch {
	case now != nil:
		before, _, err := f.store(now).Get(now)
		if err != nil {
			return err
		}
		if err := f.store(now).Update(now); err != nil {
			return err
		}
		last, _ := before.(*Object)
		f.Watch.changed(last, now)
	case old != nil:
		if err := f.store(old).Delete(old); err != nil {
			return err
		}
		f.Watch.changed(old, nil)
	}
	return nil
}

// shown returns the object as the watch caches it, or nil if the watch does not
// select it.
func (f *Feed) shown(u *unstructured.Unstructured) *Object {
	gvk := f.cache.kind.GVK
	if u == nil || u.GroupVersionKind().GroupKind() != gvk.GroupKind() || !f.selector.Matches(rules.LabelsOf(u.Object)) ||
		f.cache.namespace(u.GetNamespace()) == nil {
		return nil
	}
	o := f.Watch.objectOf(u)
	(&unstructured.Unstructured{Object: o.content}).SetGroupVersionKind(gvk)
	return o
}

func (f *Feed) store(o *Object) cache.Indexer { return f.cache.namespace(o.GetNamespace()).objects() }

func (f *Feed) bookmark(version string) {
	for _, n := range f.cache.namespaces {
		n.objects().Bookmark(version)
	}
}
