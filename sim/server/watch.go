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

// A stream sends the events of a watch.
type stream struct {
	*call
	selects func(*unstructured.Unstructured) bool
	headed  bool // a table with its column definitions was sent
}

// watch serves a watch. Without a resourceVersion, and with "0", it begins with the objects that exist.
func (c *call) watch(options metav1.ListOptions) error {
	selects, err := sim.Selects(c.stored, options)
	if err != nil {
		return err
	}
	if c.name != "" {
		named := selects
		selects = func(u *unstructured.Unstructured) bool { return u.GetName() == c.name && named(u) }
	}
	s := &stream{call: c, selects: selects}
	initial, _ := strconv.ParseBool(c.query.Get("sendInitialEvents"))
	bookmarks, _ := strconv.ParseBool(c.query.Get("allowWatchBookmarks"))
	version := options.ResourceVersion
	var first []unstructured.Unstructured
	if initial || version == "" || version == "0" {
		list, err := c.client.List(c.request.Context(), metav1.ListOptions{LabelSelector: options.LabelSelector,
			FieldSelector: options.FieldSelector})
		if err != nil {
			return err
		}
		first, version = list.Items, list.GetResourceVersion()
	}
	changes, now, next, known := c.Cluster.Since(version)
	if !known {
		return apierrors.NewResourceExpired("too old resource version: " + version)
	}
	c.w.Header().Set("Content-Type", "application/json")
	c.w.Header().Set("Cache-Control", "no-cache, private")
	c.w.WriteHeader(http.StatusOK)
	for i := range first {
		if s.kind != s.stored {
			first[i] = *older(&first[i]) // send translates all objects.
		}
		if err := s.send(watch.Added, &first[i]); err != nil {
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
		if err := http.NewResponseController(c.w).Flush(); err != nil {
			return nil
		}
		select {
		case <-c.request.Context().Done():
			return nil
		case <-end.C:
			if bookmarks {
				_ = s.send(watch.Bookmark, c.bookmark(version))
			}
			return nil
		case <-mark.C:
			changes = nil
			if bookmarks {
				if err := s.send(watch.Bookmark, c.bookmark(version)); err != nil {
					return nil
				}
			}
			continue
		case <-next:
		}
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
		last = change.New
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
	if u = sim.InVersion(u, s.stored.GVK); !s.selects(u) {
		return nil
	}
	return u
}

func (s *stream) send(kind watch.EventType, u *unstructured.Unstructured) error {
	if s.kind != s.stored && kind != watch.Bookmark {
		u = newer(u)
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
