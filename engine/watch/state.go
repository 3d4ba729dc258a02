package watch

import "time"

// A State is the state of one namespace of a watch. Its JSON is documented.
type State struct {
	Namespace string    `json:"namespace,omitempty"` // empty: all namespaces
	Synced    bool      `json:"synced"`              // the cache is up to date
	Problem   string    `json:"error,omitempty"`     // why it may not be
	Objects   int       `json:"objects"`             // number of objects in the cache
	Version   string    `json:"resourceVersion,omitempty"`
	Since     time.Time `json:"since,omitzero"` // time of the last list
}

// States returns the state of each namespace, or one state if nothing is listed.
func (w *Watch) States() (all []State) {
	c, err := w.Cache()
	if err != nil {
		return []State{{Problem: err.Error()}}
	}
	for _, n := range c.namespaces {
		s := State{Namespace: n.namespace, Synced: true}
		if err := n.outOfDate(); err != nil {
			s.Synced, s.Problem = false, err.Error()
		}
		if n.listed() {
			content := n.content.Load()
			s.Objects, s.Version, s.Since = len(content.objects.ListKeys()), content.objects.LastStoreSyncResourceVersion(),
				content.since
		}
		all = append(all, s)
	}
	return all
}
