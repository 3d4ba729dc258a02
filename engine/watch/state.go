package watch

import "time"

// A State is the state of one namespace of a watch.
type State struct {
	Namespace string    // empty: all namespaces
	Problem   error     // why the cache may not be up to date; nil if it is
	Objects   int       // number of objects in the cache
	Version   string    // the last resourceVersion that the cache has seen
	Since     time.Time // time of the last list; zero if there was none
}

// States returns the state of each namespace, or one state if nothing is listed.
func (w *Watch) States() (all []State) {
	c, err := w.Cache()
	if err != nil {
		return []State{{Problem: err}}
	}
	for _, n := range c.namespaces {
		s := State{Namespace: n.namespace, Problem: n.outOfDate()}
		if n.listed() {
			content := n.content.Load()
			s.Objects, s.Version, s.Since = len(content.objects.ListKeys()), content.objects.LastStoreSyncResourceVersion(), content.since
		}
		all = append(all, s)
	}
	return all
}
