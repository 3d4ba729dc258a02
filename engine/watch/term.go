package watch

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A term is one watch request, from its answer to its end.
type term struct {
	began time.Time
	limit time.Duration
	full  atomic.Bool // the API server sent events, and ended it at its limit
}

// tolerance is how far from its limit a watch may end that the API server ended at its
// limit.
const tolerance = 2 * time.Second

func newTerm(o metav1.ListOptions) *term {
	t := &term{began: time.Now()}
	if o.TimeoutSeconds != nil {
		t.limit = time.Duration(*o.TimeoutSeconds) * time.Second
	}
	return t
}

// end notes that the API server has closed the watch.
func (t *term) end() { t.full.Store((time.Since(t.began) - t.limit).Abs() < tolerance) }

// A RestoredError means that the API server is at an earlier version than it was, as
// after its storage was restored from a backup. It would accept a watch that resumes at
// the later version, and send nothing until it has passed that version.
type RestoredError struct {
	Kind             string
	Version, Earlier string // resourceVersions: of the watch, and now
}

// Error implements error.
func (e RestoredError) Error() string {
	return fmt.Sprintf("the API server has gone back to an earlier state, as after a restore of etcd from a backup: the "+
		"list of %s was at resourceVersion %s and is now at %s; start reconcel again",
		e.Kind, e.Version, e.Earlier)
}

// checkHistory returns a RestoredError if the API server is at an earlier version than
// a watch that resumes. An outage ends watches before their limit. A watch that resumed on another,
// restored API server has had no event, not even a bookmark. Others are not checked.
func (l *listing) checkHistory(ctx context.Context, n *namespaced, resumed metav1.ListOptions) error {
	last := n.term
	if last == nil || last.full.Load() || resumed.ResourceVersion == "" || resumed.SendInitialEvents != nil {
		return nil
	}
	list, err := l.list(ctx, n, metav1.ListOptions{Limit: 1})
	if err != nil {
		return err
	}
	if olderVersion(list.ResourceVersion, resumed.ResourceVersion) {
		return RestoredError{Kind: l.cache.kind.GVK.Kind, Version: resumed.ResourceVersion, Earlier: list.ResourceVersion}
	}
	return nil
}
