package server

import (
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"reconcel/sim"
)

// A watch ends after half an hour, unless the client asks for another time. Without events, bookmarks come each
// minute, as from the API server.
const (
	watchFor      = 30 * time.Minute
	bookmarkEvery = time.Minute
)

// slowest is how long a client may take to read what has happened. Then its watch ends.
const slowest = 10 * time.Second

// A stream sends the events of a watch.
type stream struct {
	*call
	selects func(*unstructured.Unstructured) bool
	headed  bool // a table with its column definitions was sent
}

// watch serves a watch. Without a resourceVersion, and with "0", it begins with the objects that exist.
func (c *call) watch(options metav1.ListOptions) error {
	selects, err := c.selector(options)
	if err != nil {
		return err
	}
	s := &stream{call: c, selects: selects}
	initial, _ := strconv.ParseBool(c.query.Get("sendInitialEvents"))
	bookmarks, _ := strconv.ParseBool(c.query.Get("allowWatchBookmarks"))
	version := options.ResourceVersion
	var first []*unstructured.Unstructured
	if initial || version == "" || version == "0" {
		if first, version, err = c.objects(selects); err != nil {
			return err
		}
	}
	changes, now, next, known := c.Cluster.Since(version)
	if !known {
		return apierrors.NewResourceExpired("too old resource version: " + version)
	}
	writeHeader(c.w, http.StatusOK)
	to := http.NewResponseController(c.w)
	limit := func() { _ = to.SetWriteDeadline(time.Now().Add(slowest)) } // Not all servers have deadlines.
	limit()
	for _, u := range first {
		if err := s.send(watch.Added, u); err != nil {
			return nil // The client is gone, as below.
		}
	}
	if initial && bookmarks {
		mark := c.bookmark(version)
		mark.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
		if err := s.send(watch.Bookmark, mark); err != nil {
			return nil
		}
	}
	end := time.NewTimer(c.watchTime())
	defer end.Stop()
	mark := time.NewTicker(bookmarkEvery)
	defer mark.Stop()
	for {
		for _, change := range changes {
			if err := s.change(change); err != nil {
				return nil
			}
		}
		version = now
		if err := to.Flush(); err != nil {
			return nil
		}
		_ = to.SetWriteDeadline(time.Time{})
		select {
		case <-c.request.Context().Done():
			return nil
		case <-end.C:
			limit()
			if bookmarks {
				_ = s.send(watch.Bookmark, c.bookmark(version))
			}
			return nil
		case <-mark.C:
			limit()
			changes = nil
			if bookmarks {
				if err := s.send(watch.Bookmark, c.bookmark(version)); err != nil {
					return nil
				}
			}
			continue
		case <-next:
		}
		limit()
		if changes, now, next, known = c.Cluster.Since(version); !known {
			status := statusOf(apierrors.NewResourceExpired("too old resource version: " + version))
			_ = encode(c.w, event{string(watch.Error), status})
			return nil
		}
	}
}

// watchTime is how long a watch lasts.
func (c *call) watchTime() time.Duration {
	if seconds, err := strconv.ParseInt(c.query.Get("timeoutSeconds"), 10, 32); err == nil && seconds > 0 {
		return time.Duration(seconds) * time.Second
	}
	return watchFor
}

// change sends what a change is for the watch: an object that is no longer selected is deleted, for it.
func (s *stream) change(change sim.Change) error {
	before, after := s.seen(change.Old), s.seen(change.New)
	switch {
	case before == nil && after == nil:
		return nil
	case before == nil:
		return s.send(watch.Added, after)
	case after != nil:
		return s.send(watch.Modified, after)
	}
	last := before
	if change.New != nil {
		last = s.Cluster.Read(change.New, s.stored.GVK)
	}
	last = last.DeepCopy()
	last.SetResourceVersion(change.Version)
	return s.send(watch.Deleted, last)
}

// seen returns an object that the watch selects in the version of its kind, or nil.
func (s *stream) seen(u *unstructured.Unstructured) *unstructured.Unstructured {
	if u == nil || u.GroupVersionKind().GroupKind() != s.stored.GVK.GroupKind() ||
		s.namespace != "" && u.GetNamespace() != s.namespace {
		return nil
	}
	if u = s.Cluster.Read(u, s.stored.GVK); !s.selects(u) {
		return nil
	}
	return u
}

func (s *stream) send(kind watch.EventType, u *unstructured.Unstructured) error {
	if kind != watch.Bookmark {
		u = s.seenAs(u)
	}
	body := any(u.Object)
	switch {
	case kind == watch.Bookmark:
	case s.wants.form == table:
		t := s.tableOfOne(u)
		if s.headed {
			t.ColumnDefinitions = nil
		}
		body, s.headed = t, true
	default:
		body = s.shaped(u)
	}
	return encode(s.w, event{string(kind), body})
}
