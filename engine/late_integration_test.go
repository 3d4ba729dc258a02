//go:build integration

package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// lostLetter holds back the first PATCH of a path whose body contains a text. The sender
// gets a connection error.
type lostLetter struct {
	path, text string

	mu   sync.Mutex
	send func() (int, error) // delivers the request late, and returns the response code
}

func (l *lostLetter) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.Method != http.MethodPatch || !strings.HasSuffix(r.URL.Path, l.path) {
			return next.RoundTrip(r)
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		again := func(ctx context.Context) (*http.Response, error) {
			copied := r.Clone(ctx)
			copied.Body = io.NopCloser(bytes.NewReader(body))
			return next.RoundTrip(copied)
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.send != nil || !bytes.Contains(body, []byte(l.text)) {
			return again(r.Context())
		}
		l.send = func() (int, error) {
			response, err := again(context.Background())
			if err != nil {
				return 0, err
			}
			return response.StatusCode, response.Body.Close()
		}
		return nil, errors.New("the connection broke")
	})
}

// TestLateUpdateChangesNothing delivers an update after a newer update of the child. The
// network may do so with the request of a former leader.
func TestLateUpdateChangesNothing(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	lost := &lostLetter{path: "/configmaps/one-a", text: `"second"`}
	w.wrap = lost.wrap
	w.run(widgetRules("", configMapChild("a", "${self.metadata.name}-a")))
	w.Create(widget("one", "value: first"))
	w.Has(configs, "one-a", map[string]any{"data.value": "first"})
	w.Patch(widgets, "one", `{"spec":{"value":"second"}}`)
	w.Has(configs, "one-a", map[string]any{"data.value": "second"})
	w.Patch(widgets, "one", `{"spec":{"value":"third"}}`)
	w.Has(configs, "one-a", map[string]any{"data.value": "third"})

	before := w.Get(configs, "one-a").GetResourceVersion()
	code, err := lost.send()
	if err != nil || code != http.StatusConflict {
		t.Errorf("the late update was answered %d, want %d: %v", code, http.StatusConflict, err)
	}
	if now := w.Get(configs, "one-a"); now.GetResourceVersion() != before {
		t.Errorf("the late update has changed the child: %v", now.Object["data"])
	}
}

// TestUpdateBesideOtherWriters has another client write to the child just before the
// update arrives. The engine reads that write and then updates the child.
func TestUpdateBesideOtherWriters(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	var once sync.Once
	w.wrap = func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, "/configmaps/one-a") && w.Get(configs, "one-a") != nil {
				once.Do(func() { w.Patch(configs, "one-a", `{"metadata":{"labels":{"other":"writer"}}}`) })
			}
			return next.RoundTrip(r)
		})
	}
	w.run(widgetRules("", configMapChild("a", "${self.metadata.name}-a")))
	w.Create(widget("one", "value: first"))
	w.Has(configs, "one-a", map[string]any{"data.value": "first"})
	w.Patch(widgets, "one", `{"spec":{"value":"second"}}`)
	w.Has(configs, "one-a", map[string]any{"data.value": "second", "metadata.labels.other": "writer"})
}

// TestLateStatusChangesNothing delivers a status after a newer one, as the network may do
// with the request of a former leader.
func TestLateStatusChangesNothing(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	lost := &lostLetter{path: "/widgets/one/status", text: `"second"`}
	w.wrap = lost.wrap
	w.run(widgetRules("", configMapChild("a", "${self.metadata.name}-a")) + "  status: {value: \"${self.spec.value}\"}\n")
	w.Create(widget("one", "value: first"))
	w.Has(widgets, "one", map[string]any{"status.value": "first"})
	w.Patch(widgets, "one", `{"spec":{"value":"second"}}`)
	w.Has(widgets, "one", map[string]any{"status.value": "second"})
	w.Patch(widgets, "one", `{"spec":{"value":"third"}}`)
	w.Has(widgets, "one", map[string]any{"status.value": "third"})
	w.settles()

	before := w.Get(widgets, "one").GetResourceVersion()
	code, err := lost.send()
	if err != nil || code != http.StatusConflict {
		t.Errorf("the late status was answered %d, want %d: %v", code, http.StatusConflict, err)
	}
	if now := w.Get(widgets, "one"); now.GetResourceVersion() != before {
		t.Errorf("the late status has changed the primary: %v", now.Object["status"])
	}
}

// TestStatusBesideOtherWriters has another client write to the primary just before each
// status arrives. Each status costs at most one more request, and arrives.
func TestStatusBesideOtherWriters(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	var sent, accepted atomic.Int32
	w.wrap = func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Method != http.MethodPatch || !strings.HasSuffix(r.URL.Path, "/widgets/one/status") {
				return next.RoundTrip(r)
			}
			if n := sent.Add(1); n%2 == 1 {
				w.Patch(widgets, "one", fmt.Sprintf(`{"metadata":{"finalizers":["test.reconcel.dev/f%d"]}}`, n))
			}
			response, err := next.RoundTrip(r)
			if err == nil && response.StatusCode == http.StatusOK {
				accepted.Add(1)
			}
			return response, err
		})
	}
	w.run(widgetRules("", configMapChild("a", "${self.metadata.name}-a")) + "  status: {value: \"${self.spec.value}\"}\n")
	w.Create(widget("one", "value: v0"))
	for i := range 5 {
		value := fmt.Sprint("v", i)
		w.Patch(widgets, "one", `{"spec":{"value":"`+value+`"}}`)
		w.Has(widgets, "one", map[string]any{"status.value": value})
		w.Is(widgets, "one", "Ready", "True")
	}
	w.settles()
	if sent, accepted := sent.Load(), accepted.Load(); sent > 2*accepted {
		t.Errorf("%d requests for %d statuses", sent, accepted)
	}
	w.Patch(widgets, "one", `{"metadata":{"finalizers":null}}`)
}
