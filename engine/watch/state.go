package watch

import "time"

// A State is what one namespace of a watch shows.
type State struct {
	Namespace string    // "": all
	Problem   error     // why it does not show the present objects; nil: it does
	Objects   int       // in the cache
	Version   string    // the last resourceVersion that the cache has seen
	Since     time.Time // the time of the last list; zero: never
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
