package engine

import (
	"context"
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
