package watch

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"reconcel/engine/discover"
)

// uninitialized is an API server that cannot read the objects of a kind, and says so. It may not
// answer a watch at all.
type uninitialized struct{ hangs string }

// RoundTrip implements http.RoundTripper.
func (u uninitialized) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Query().Get(u.hangs) == "true" {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	status := `{"kind":"Status","apiVersion":"v1","status":"Failure","code":429,"reason":"TooManyRequests","message":"the conversion webhook does not answer","details":{"retryAfterSeconds":1}}`
	return &http.Response{
		StatusCode: http.StatusTooManyRequests, Header: http.Header{"Content-Type": {"application/json"}, "Retry-After": {"1"}},
		Body: io.NopCloser(strings.NewReader(status)), Request: r,
	}, nil
}

// TestUnansweredList waits for the first list of a kind that the API server cannot read. Nobody
// waits for it any more after some seconds, and the problem says what the API server said.
func TestUnansweredList(t *testing.T) {
	for _, hangs := range []string{"watch", "nothing"} {
		t.Run(hangs+" hangs", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testUnansweredList(t, uninitialized{hangs}) })
		})
	}
}

func testUnansweredList(t *testing.T, server http.RoundTripper) {
	client, err := rest.UnversionedRESTClientForConfigAndClient(
		dynamic.ConfigFor(&rest.Config{Host: "https://api.invalid", APIPath: "/", QPS: -1}), &http.Client{Transport: server})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ws := &Watcher{Client: client, Log: slog.New(slog.DiscardHandler), Kinds: oneKind{kind: services}, Waiter: &discover.Waiter{}}
	w := silent(Key{GVK: services.GVK})
	began := time.Now()
	ws.Start(ctx, w)
	for w.Pending(time.Since(began)) && time.Since(began) < time.Minute {
		time.Sleep(10 * time.Millisecond) // In the time of the test.
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("pending for %s", took)
	}
	time.Sleep(20 * time.Second)
	if all := w.Problems(); len(all) != 1 || !strings.Contains(all[0].Error(), "the conversion webhook does not answer") {
		t.Errorf("problems: %v", all)
	}
	cancel()
	ws.Wait()
}
