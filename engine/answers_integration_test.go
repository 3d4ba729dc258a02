//go:build integration

package engine_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A cannedAnswer is what a gateway, or an API server in trouble, sends instead of the answer
// to a request.
type cannedAnswer struct {
	code int
	body string // JSON if it begins with {
}

var (
	pageNotFound = cannedAnswer{http.StatusNotFound, "404 page not found"}
	etcdIsAway   = cannedAnswer{http.StatusInternalServerError,
		`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"etcdserver: request timed out","code":500}`}
)

// answers sends an answer to the next requests that match. left is how many.
func (w *world) answers(with cannedAnswer, match func(*http.Request) bool) (left *atomic.Int32) {
	left = &atomic.Int32{}
	w.wrap = func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if !match(r) || left.Add(-1) < 0 {
				return next.RoundTrip(r)
			}
			kind := "text/plain; charset=utf-8"
			if strings.HasPrefix(with.body, "{") {
				kind = "application/json"
			}
			return &http.Response{
				StatusCode: with.code, Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(strings.NewReader(with.body)), Request: r,
			}, nil
		})
	}
	return left
}

func patches(suffix string) func(*http.Request) bool {
	return func(r *http.Request) bool {
		return r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, suffix)
	}
}

// TestAnswersOfNoObject answers writes with a 404 that says nothing about the object, and
// with a 500 that says nothing about the body. The engine repeats the write soon.
func TestAnswersOfNoObject(t *testing.T) {
	for _, with := range []cannedAnswer{pageNotFound, etcdIsAway} {
		t.Run(fmt.Sprint(with.code), func(t *testing.T) {
			t.Run("to a child", func(t *testing.T) {
				w := newWorldAlone(t)
				w.CRD(widgetCRD)
				left := w.answers(with, patches("/configmaps/one-a"))
				left.Store(3)
				w.run(widgetRules("", configMapChild("a", "${self.metadata.name}-a")))
				w.Create(widget("one", "value: first"))
				w.within(5*time.Second, "the child", func() error {
					if w.Get(configs, "one-a") == nil || left.Load() > 0 {
						return fmt.Errorf("it is not there, %d answers are left", left.Load())
					}
					return nil
				})
			})
			t.Run("to a status", func(t *testing.T) {
				w := newWorld(t)
				w.CRD(widgetCRD)
				left := w.answers(with, patches("/widgets/one/status"))
				left.Store(2)
				w.run(widgetRules("", configMapChild("a", "${self.metadata.name}-a")))
				w.Create(widget("one", "value: first"))
				w.says(widgets, "one", "Ready", "True", "")
				if left.Load() > 0 {
					t.Error("the answer was not sent")
				}
			})
			t.Run("to a finalizer", func(t *testing.T) {
				w := newWorld(t)
				w.CRD(widgetCRD)
				left := w.answers(with, patches("/widgets/one"))
				source, other := w.acrossScopes("")
				w.run(source)
				w.Create(widget("one", "value: first"))
				w.in(other).Has(configs, "one-far", nil)
				left.Store(2)
				w.deleteWith(widgets, "one", "Background")
				w.gone(widgets, "one")
				w.in(other).gone(configs, "one-far")
				if left.Load() > 0 {
					t.Error("the answer was not sent")
				}
			})
		})
	}
}
