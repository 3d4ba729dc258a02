package watch

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"reconcel/engine/discover"
	"reconcel/rules"
	"reconcel/test/e2e"
)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// neverAnswers is an API server that never answers.
func neverAnswers(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// streaming answers with the bytes that are written to the pipe.
func streaming(body *io.PipeReader) roundTripper {
	return func(r *http.Request) (*http.Response, error) {
		context.AfterFunc(r.Context(), func() { _ = body.CloseWithError(r.Context().Err()) })
		return &http.Response{StatusCode: http.StatusOK, Body: body}, nil
	}
}

func guarded(t *testing.T, next roundTripper, url string) (*http.Response, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	return (&watchdog{next, slog.New(slog.DiscardHandler)}).RoundTrip(r)
}

func TestRequestThatIsNeverAnsweredEnds(t *testing.T) {
	for url, want := range map[string]time.Duration{"http://a/api/v1/pods?watch=true": headersPatience, "http://a/api/v1/pods": listPatience} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			response, err := guarded(t, neverAnswers, url)
			if err == nil {
				_ = response.Body.Close()
				t.Fatal("no error")
			}
			if took := time.Since(began); took != want || errors.Is(err, context.Canceled) {
				t.Errorf("after %s: %v", took, err)
			}
		})
	}
}

func TestSilentWatchEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body, server := io.Pipe()
		response, err := guarded(t, streaming(body), "http://a/api/v1/pods?watch=true")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		go func() {
			for range 3 { // Bookmarks keep it alive.
				time.Sleep(longestWatch)
				_, _ = server.Write([]byte("bookmark\n"))
			}
		}()
		began := time.Now()
		all, err := io.ReadAll(response.Body)
		if took := time.Since(began); err != nil || len(all) != 27 || took != 3*longestWatch+streamPatience {
			t.Errorf("after %s: %q, %v", took, all, err)
		}
	})
}

// TestSilenceEndsWithinAMinute also leaves time for the next request.
func TestSilenceEndsWithinAMinute(t *testing.T) {
	w := New(Key{Role: Child}, rules.VisibleToRules())
	for range 100 {
		o := metav1.ListOptions{TimeoutSeconds: new(int64(400))}
		w.tweakList(&o)
		if limit := time.Duration(*o.TimeoutSeconds) * time.Second; limit >= streamPatience || limit < shortestWatch {
			t.Fatalf("a resumed watch lasts %s, and may be silent for %s", limit, streamPatience)
		}
	}
	list := metav1.ListOptions{TimeoutSeconds: new(int64(400)), SendInitialEvents: new(true)}
	if w.tweakList(&list); *list.TimeoutSeconds != 400 || streamPatience > 55*time.Second {
		t.Errorf("a list has %d s, a silent watch %s", *list.TimeoutSeconds, streamPatience)
	}
}

// TestSlowListIsReadToItsEnd reads a list that takes an hour, one byte a minute.
func TestSlowListIsReadToItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body, server := io.Pipe()
		response, err := guarded(t, streaming(body), "http://a/api/v1/pods")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		go func() {
			for range 60 {
				time.Sleep(time.Minute)
				_, _ = server.Write([]byte("l"))
			}
			_ = server.Close()
		}()
		if all, err := io.ReadAll(response.Body); string(all) != strings.Repeat("l", 60) || err != nil {
			t.Errorf("%q, %v", all, err)
		}
	})
}

// TestStalledAnswerEnds begins an answer and never sends its rest. It must not look complete.
func TestStalledAnswerEnds(t *testing.T) {
	for name, c := range map[string]struct {
		url  string
		code int
		want time.Duration
	}{
		"a list":            {"http://a/api/v1/pods", http.StatusOK, listPatience},
		"an error":          {"http://a/api/v1/pods", http.StatusInternalServerError, listPatience},
		"a watch's refusal": {"http://a/api/v1/pods?watch=true", http.StatusInternalServerError, headersPatience},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				body, server := io.Pipe()
				response, err := guarded(t, func(r *http.Request) (*http.Response, error) {
					answer, err := streaming(body)(r)
					answer.StatusCode = c.code
					return answer, err
				}, c.url)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = response.Body.Close() }()
				go func() { _, _ = server.Write([]byte("begin")) }()
				time.AfterFunc(time.Hour, func() { _ = server.Close() })
				began := time.Now()
				all, err := io.ReadAll(response.Body)
				if took := time.Since(began); string(all) != "begin" || err == nil || errors.Is(err, context.Canceled) || took != c.want {
					t.Errorf("after %s: %q, %v", took, all, err)
				}
			})
		})
	}
}

// TestStalledListIsRepeated has the first list stall after its begin.
func TestStalledListIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lists := 0
		served := e2e.Served{List: func(string) ([]string, error) { return []string{aService}, nil }}
		server := roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.URL.Query().Get("watch") == "true" {
				return served.RoundTrip(r)
			}
			if lists++; lists > 1 {
				return served.RoundTrip(r)
			}
			body, in := io.Pipe()
			go func() { _, _ = in.Write([]byte(`{"items":[`)) }()
			return streaming(body)(r)
		})
		log := &e2e.Log{}
		logger := slog.New(slog.NewTextHandler(log, nil))
		client, err := rest.UnversionedRESTClientForConfigAndClient(dynamic.ConfigFor(
			&rest.Config{Host: "https://api.invalid", APIPath: "/", QPS: -1}), &http.Client{Transport: &watchdog{server, logger}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ws := &Watcher{Client: client, Log: logger, Kinds: oneKind{kind: services}, Waiter: &discover.Waiter{}}
		w := silent(Key{GVK: services.GVK})
		ws.Start(ctx, w)
		time.Sleep(2 * time.Minute)
		if s := w.States()[0]; !s.Synced || s.Objects != 1 {
			t.Errorf("after two minutes: %+v", s)
		}
		if log.Count(`level=WARN msg="cannot watch, will retry" kind="/v1, Kind=Service"`) != 1 || log.Count("nothing received for 1m10s") == 0 {
			t.Errorf("it is not logged:\n%s", log)
		}
		cancel()
		ws.Wait()
	})
}
