package watch

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"reconcel/rules"
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

func TestSlowListIsReadToItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body, server := io.Pipe()
		response, err := guarded(t, streaming(body), "http://a/api/v1/pods")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		go func() {
			time.Sleep(time.Hour)
			_, _ = server.Write([]byte("list"))
			_ = server.Close()
		}()
		if all, err := io.ReadAll(response.Body); string(all) != "list" || err != nil {
			t.Errorf("%q, %v", all, err)
		}
	})
}
