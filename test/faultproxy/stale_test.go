package faultproxy_test

import (
	"testing"
	"time"

	"reconcel/test/faultproxy"
)

func everything(faultproxy.Request) bool { return true }

func TestStaleViewOfOneResource(t *testing.T) {
	api, proxy := start(t)
	proxy.Freeze(5, faultproxy.WatchListAllowed, func(r faultproxy.Request) bool { return r.Resource == "services" })
	lines := watch(t, proxy.URL()+pods)
	api.events <- line(6)
	if got := next(t, lines); got != line(6) {
		t.Errorf("got %q, want version 6, because pods do not lag", got)
	}
}

func TestStaleViewHoldsNewerEvents(t *testing.T) {
	api, proxy := start(t)
	lift := proxy.Freeze(5, faultproxy.WatchListAllowed, everything)
	lines := watch(t, proxy.URL()+pods)
	api.events <- line(5)
	if got := next(t, lines); got != line(5) {
		t.Errorf("got %q, want version 5", got)
	}
	api.events <- line(6)
	select {
	case got := <-lines:
		t.Errorf("%q came, which is newer than the view", got)
	case <-time.After(50 * time.Millisecond):
	}
	lift()
	if got := next(t, lines); got != line(6) {
		t.Errorf("after the lift: got %q, want version 6", got)
	}
}

func TestStaleViewAnswersOnlyCachedReads(t *testing.T) {
	api, proxy := start(t)
	lift := proxy.Freeze(5, faultproxy.WatchListRefused, everything)
	for query, want := range map[string]string{
		"?resourceVersion=0": "resourceVersion=5&resourceVersionMatch=Exact",
		"":                   "",
		"/x":                 "",
	} {
		if response, err := do(t, "GET", proxy.URL()+pods+query); err != nil || response.StatusCode != 200 {
			t.Fatalf("%q: %v", query, err)
		}
		if api.query != want {
			t.Errorf("%q: the server got %q, want %q", query, api.query, want)
		}
	}
	const initial = "?watch=true&sendInitialEvents=true"
	if response, err := do(t, "GET", proxy.URL()+pods+initial); err != nil || response.StatusCode != 500 {
		t.Errorf("a refused watch of initial events: %v, %v", response, err)
	}
	lift()
	if response, err := do(t, "GET", proxy.URL()+pods+initial); err != nil || response.StatusCode != 200 {
		t.Errorf("after the lift: %v, %v", response, err)
	}
}
