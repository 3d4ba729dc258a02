package watch

import (
	"maps"

	"k8s.io/client-go/tools/cache"

	"reconcel/rules"
)

// A store is what client-go's reflector fills: the objects of one list and of the watch after
// it. It reports changes in the goroutine of the reflector. An informer passes each event on to
// three more goroutines, which takes 3 to 5 % of reconcel's CPU time.
type store struct {
	watch   *Watch
	objects cache.Indexer
	listed  func() // called once, when the first list is complete
}

// Add implements cache.ReflectorStore.
func (s *store) Add(item any) error { return s.watch.keep(s.objects, item.(*Object)) }

// Update implements cache.ReflectorStore.
func (s *store) Update(item any) error { return s.Add(item) }

// Delete implements cache.ReflectorStore.
func (s *store) Delete(item any) error { return s.watch.drop(s.objects, item.(*Object)) }

// Replace implements cache.ReflectorStore. It changes all objects at once. Of the first list,
// it only tells that it is complete.
func (s *store) Replace(list []any, version string) error {
	before := map[string]*Object{}
	for _, item := range s.objects.List() {
		o := item.(*Object)
		before[keyOf(o)] = o
	}
	if err := s.objects.Replace(list, version); err != nil {
		return err
	}
	if s.listed != nil {
		s.listed()
		s.listed = nil
		return nil
	}
	for _, item := range list {
		now := item.(*Object)
		s.watch.changed(before[keyOf(now)], now)
		delete(before, keyOf(now))
	}
	for _, gone := range before {
		s.watch.changed(gone, nil)
	}
	return nil
}

// Resync implements cache.ReflectorStore.
func (s *store) Resync() error { return nil }

// Bookmark implements cache.ReflectorBookmarkStore.
func (s *store) Bookmark(version string) error {
	s.objects.Bookmark(version)
	return nil
}

// newIndexer returns an empty cache of the objects of a watch.
func newIndexer(w *Watch) cache.Indexer {
	return cache.NewIndexer(func(item any) (string, error) { return keyOf(item.(*Object)), nil }, w.indexers())
}

func keyOf(o *Object) string { return key(o.GetNamespace(), o.GetName()) }

// keep puts an object that was added or changed into a cache, and reports the change.
func (w *Watch) keep(objects cache.Indexer, now *Object) error {
	before, _, err := objects.GetByKey(keyOf(now))
	if err != nil {
		return err
	}
	if err := objects.Update(now); err != nil {
		return err
	}
	old, _ := before.(*Object)
	w.changed(old, now)
	return nil
}

// drop removes an object that was deleted from a cache, and reports that.
func (w *Watch) drop(objects cache.Indexer, last *Object) error {
	if err := objects.Delete(last); err != nil {
		return err
	}
	w.changed(last, nil)
	return nil
}

// changed reports a change: old is nil for an object that was added, and now for one that was
// deleted. It also reports the old state if that may concern primaries that the new state does
// not concern.
func (w *Watch) changed(old, now *Object) {
	if w.witness != nil {
		w.witness(old, now)
	}
	switch {
	case now == nil:
		w.onChange(old)
		return
	case old == nil:
	case w.Role == Lookup:
		if old.GetResourceVersion() == now.GetResourceVersion() {
			return // A repeated list returned the same state.
		}
		if !maps.Equal(rules.LabelsOf(old.content), rules.LabelsOf(now.content)) {
			w.onChange(old)
		}
	case old.namesOthersThan(now):
		w.onChange(old)
	}
	w.onChange(now)
}
