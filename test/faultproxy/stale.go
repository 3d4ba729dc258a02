package faultproxy

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
)

// WatchList is what a lagging API server does with a watch that asks for the initial
// events.
type WatchList string

// The answers to such a watch.
const (
	WatchListAllowed WatchList = "allowed" // the initial events are current
	WatchListRefused WatchList = "refused" // 500, so that the client lists instead
)

// view is what a lagging API server shows.
type view struct {
	version   uint64
	watchList WatchList
	match     func(Request) bool
	lifted    chan struct{}
}

// Freeze makes the API server lag behind, as its watch cache does: until lift is called,
// a list at resourceVersion 0 shows the state of a version, and watches deliver nothing
// newer. It applies to the lists and watches that match. Other reads and all writes pass.
func (p *Proxy) Freeze(version uint64, watchList WatchList, match func(Request) bool) (lift func()) {
	frozen := &view{version, watchList, match, make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frozen = frozen
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.frozen == frozen {
			p.frozen = nil
			close(frozen.lifted)
		}
	}
}

// frozenView returns the view of a lagging API server, or nil.
func (p *Proxy) frozenView() *view {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.frozen
}

// lag changes a read into one of the frozen version. It reports whether it has answered.
func (v *view) lag(w http.ResponseWriter, r *http.Request, request Request) bool {
	query := r.URL.Query()
	switch {
	case request.Method != http.MethodGet:
	case request.Watch && query.Get("sendInitialEvents") == "true" && v.watchList == WatchListRefused:
		Answer{Code: http.StatusInternalServerError}.write(w)
		return true
	case !request.Watch && request.Resource != "" && request.Name == "" && query.Get("resourceVersion") == "0":
		query.Set("resourceVersion", strconv.FormatUint(v.version, 10))
		query.Set("resourceVersionMatch", "Exact")
		r.URL.RawQuery = query.Encode()
	}
	return false
}

// shows reports whether a frame is in the view.
func (v *view) shows(line []byte) bool {
	var event struct {
		Object struct {
			Metadata struct{ ResourceVersion string }
		}
	}
	if json.Unmarshal(line, &event) != nil {
		return true // The end of a watch is no event.
	}
	version, err := strconv.ParseUint(event.Object.Metadata.ResourceVersion, 10, 64)
	return err != nil || version <= v.version
}

// endsInitialEvents reports whether a frame is the bookmark after the initial events.
func endsInitialEvents(line []byte) bool {
	return bytes.Contains(line, []byte("k8s.io/initial-events-end"))
}
