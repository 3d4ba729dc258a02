package engine

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
)

// TestLastEventsAreSent records an Event and stops: it is with the API server by
// then, however slow that is.
func TestLastEventsAreSent(t *testing.T) {
	sent := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(200 * time.Millisecond):
			sent <- struct{}{}
		case <-r.Context().Done():
		}
		w.WriteHeader(http.StatusBadRequest) // It is not to be tried again.
	}))
	defer server.Close()
	b, err := newBroadcaster(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if err := b.start(ctx); err != nil {
		t.Fatal(err)
	}
	about := &corev1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "default", Name: "a"}
	cancel() // As SIGTERM does.
	b.recorder().Eventf(about, nil, corev1.EventTypeNormal, "Tested", "Test", "the last one")
	b.stop()
	select {
	case <-sent:
	default:
		t.Error("the last Event was lost")
	}
}

// TestWhatIsToldAgainIsOneEvent tells the same of two states of an object.
func TestWhatIsToldAgainIsOneEvent(t *testing.T) {
	requests := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"apiVersion":"events.k8s.io/v1","kind":"Event","metadata":{"name":"a","namespace":"default"}}`)
		requests <- r.Method
	}))
	defer server.Close()
	b, err := newBroadcaster(&rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	told := recorder{b.recorder()}
	for _, version := range []string{"1", "2"} {
		about := thing("default", "a", "")
		about.SetResourceVersion(version)
		told.again(about, reasonSynced, "it is as the rules want it")
		select {
		case method := <-requests:
			if want := map[string]string{"1": http.MethodPost, "2": http.MethodPatch}[version]; method != want {
				t.Errorf("state %s: %s, want %s", version, method, want)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("state %s: nothing was sent", version)
		}
	}
	b.stop()
}
