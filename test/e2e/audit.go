package e2e

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"reconcel/test/devcluster"
)

// User is the API server's user that reconcel runs as in tests.
const User = "reconcel"

// Requests returns the matching requests, including all that were answered before this
// call.
func (w *World) Requests(match func(devcluster.Request) bool) []devcluster.Request {
	w.Helper()
	w.FlushAudit()
	found, err := w.Cluster.Requests(match)
	if err != nil {
		w.Fatal(err)
	}
	return found
}

// FlushAudit waits until the audit log contains all earlier requests.
func (w *World) FlushAudit() {
	w.Helper()
	marker := fmt.Sprintf("marker-%d", time.Now().UnixNano())
	w.Get(ConfigMap, marker)
	w.Eventually("the audit log to have request "+marker, func() error {
		found, err := w.Cluster.Requests(func(r devcluster.Request) bool { return r.Name == marker })
		if err == nil && len(found) == 0 {
			err = errors.New("not there yet")
		}
		return err
	})
}

// Writes returns reconcel's writes to the world's namespace since an instant. Leases do
// not count.
func (w *World) Writes(since time.Time) []devcluster.Request {
	w.Helper()
	return w.Requests(func(r devcluster.Request) bool {
		return r.User == User && r.IsWrite() && r.Resource != "leases" && r.Namespace == w.Namespace &&
			!r.Received.Before(since)
	})
}

// Quiet checks that reconcel writes nothing for a while. Events do not count: they are
// sent in the background, and may report earlier changes.
func (w *World) Quiet(d time.Duration) {
	w.Helper()
	w.noWrites(d, func(r devcluster.Request) bool { return r.Resource == "events" })
}

// Silent checks that reconcel writes nothing for a while, including Events.
func (w *World) Silent(d time.Duration) {
	w.Helper()
	w.noWrites(d, func(devcluster.Request) bool { return false })
}

func (w *World) noWrites(d time.Duration, except func(devcluster.Request) bool) {
	w.Helper()
	since := time.Now()
	w.Rest(d)
	if found := slices.DeleteFunc(w.Writes(since), except); len(found) > 0 {
		w.Errorf("%d writes in %s of rest: %v", len(found), d, devcluster.Tally(found))
	}
}
