package watch

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"reconcel/engine/discover"
)

// Only a watch that ends before or after its limit needs a check of the history.
func TestTermIsFull(t *testing.T) {
	for name, c := range map[string]struct {
		lasts time.Duration
		full  bool
	}{
		"at its limit":        {40 * time.Second, true},
		"a moment later":      {41 * time.Second, true},
		"an outage":           {12 * time.Second, false},
		"silence of a minute": {time.Minute, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newTerm(metav1.ListOptions{TimeoutSeconds: new(int64(40))})
				time.Sleep(c.lasts)
				if w.end(); w.full.Load() != c.full {
					t.Errorf("after %s: full is %t", c.lasts, !c.full)
				}
			})
		})
	}
}

// Replicated API servers have a load balancer before them. All watches of the restored one end at their
// limit. It sends bookmarks for versions after that of a watch, as a real one does.
type replicated struct {
	restored atomic.Bool
	checks   atomic.Int64 // lists of one object
}

// RoundTrip implements http.RoundTripper.
func (s *replicated) RoundTrip(r *http.Request) (*http.Response, error) {
	version := 2000 + int(time.Now().Unix()%1_000_000)
	if s.restored.Load() {
		version = 1000
	}
	query := r.URL.Query()
	answer := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Request: r}
	switch {
	case query.Get("sendInitialEvents") == "true":
		answer.StatusCode, answer.Body = http.StatusBadRequest, http.NoBody
	case query.Get("watch") == "true":
		from, _ := strconv.Atoi(query.Get("resourceVersion"))
		seconds, _ := strconv.Atoi(query.Get("timeoutSeconds"))
		body, in := io.Pipe()
		answer.Body = body
		time.AfterFunc(time.Duration(seconds)*time.Second, func() {
			if version > from {
				_, _ = fmt.Fprintf(in, `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"%d"}}}`, version)
			}
			_ = in.Close()
		})
	default:
		if query.Get("limit") == "1" {
			s.checks.Add(1)
		}
		answer.Body = io.NopCloser(strings.NewReader(fmt.Sprintf(`{"metadata":{"resourceVersion":"%d"},"items":[]}`, version)))
	}
	return answer, nil
}

// TestRestoreBehindALoadBalancer restores etcd while no watch ends before its limit: the load balancer
// sends the next one to an API server that has the restored state.
func TestRestoreBehindALoadBalancer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &replicated{}
		client, err := rest.UnversionedRESTClientForConfigAndClient(
			dynamic.ConfigFor(&rest.Config{Host: "https://api.invalid", APIPath: "/", QPS: -1}), &http.Client{Transport: server})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var restored atomic.Pointer[RestoredError]
		ws := &Watcher{
			Client: client, Log: slog.New(slog.DiscardHandler), Kinds: oneKind{kind: services}, Waiter: &discover.Waiter{},
			Restored: func(err RestoredError) { restored.Store(&err) },
		}
		ws.Start(ctx, silent(Key{GVK: services.GVK}))
		time.Sleep(10 * time.Minute)
		if n := server.checks.Load(); n > 1 || restored.Load() != nil {
			t.Errorf("before: %d checks, %v", n, restored.Load())
		}
		server.restored.Store(true)
		time.Sleep(3 * time.Minute)
		if restored.Load() == nil {
			t.Error("the restore was not noticed within 3 minutes")
		}
		cancel()
		ws.Wait()
	})
}
