package faultproxy_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"reconcel/test/e2e"
	"reconcel/test/faultproxy"
)

func onPods(r faultproxy.Request) bool { return r.Resource == "pods" }

// outcome sends a request to the pods, and describes what comes back.
func outcome(t *testing.T, proxy *faultproxy.Proxy, method string) string {
	t.Helper()
	response, err := do(t, method, proxy.URL()+pods)
	if err != nil {
		return "cut"
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return "cut"
	}
	var status struct{ Kind, Reason string }
	_ = json.Unmarshal(body, &status) // A plain text is not a Status.
	return strings.Join(slices.DeleteFunc([]string{response.Status[:3], status.Kind, status.Reason, response.Header.Get("Retry-After")},
		func(s string) bool { return s == "" }), " ")
}

func TestFaults(t *testing.T) {
	answer := func(code int, body faultproxy.Body) faultproxy.Answer {
		return faultproxy.Answer{Code: code, Body: body}
	}
	for _, c := range []struct {
		name  string
		fault faultproxy.Fault
		want  string // outcomes of four requests
		asked int    // how many of them reach the server
	}{
		{"reply", faultproxy.Fault{Effect: faultproxy.Reply, Answer: answer(403, ""), Skip: 1, Times: 2}, "200, 403 Status Forbidden, 403 Status Forbidden, 200", 2},
		{"reply with Retry-After", faultproxy.Fault{Effect: faultproxy.Reply, Answer: faultproxy.Answer{Code: 429, RetryAfter: 7}, Times: 1}, "429 Status TooManyRequests 7, 200, 200, 200", 3},
		{"reply without reason", faultproxy.Fault{Effect: faultproxy.Reply, Answer: answer(500, faultproxy.WithoutReason), Times: 1}, "500 Status, 200, 200, 200", 3},
		{"reply in plain text", faultproxy.Fault{Effect: faultproxy.Reply, Answer: answer(404, faultproxy.PlainText), Times: 1}, "404, 200, 200, 200", 3},
		{"reply with an id", faultproxy.Fault{Effect: faultproxy.Reply, Answer: answer(502, faultproxy.WithID), Times: 1}, "502 Status, 200, 200, 200", 3},
		{"reply after commit", faultproxy.Fault{Effect: faultproxy.ReplyAfter, Answer: answer(504, ""), Times: 1}, "504 Status Timeout, 200, 200, 200", 4},
		{"cut before commit", faultproxy.Fault{Effect: faultproxy.CutBefore, Skip: 2, Times: 1}, "200, 200, cut, 200", 3},
		{"cut after commit", faultproxy.Fault{Effect: faultproxy.CutAfter, Skip: 2, Times: 1}, "200, 200, cut, 200", 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			api, proxy := start(t)
			in := proxy.Inject(onPods, c.fault)
			var got []string
			for range 4 {
				got = append(got, outcome(t, proxy, "POST"))
			}
			if strings.Join(got, ", ") != c.want {
				t.Errorf("got %s, want %s", strings.Join(got, ", "), c.want)
			}
			if asked := api.wasAsked(); len(asked) != c.asked {
				t.Errorf("the server was asked %q, want %d", asked, c.asked)
			}
			if hits, _ := in.Hits(); hits != c.fault.Times {
				t.Errorf("%d hits, want %d", hits, c.fault.Times)
			}
		})
	}
}

func TestLiftedFaultEnds(t *testing.T) {
	_, proxy := start(t)
	in := proxy.Inject(onPods, faultproxy.Fault{Effect: faultproxy.Reply, Answer: faultproxy.Answer{Code: 403}})
	if got := outcome(t, proxy, "GET"); !strings.HasPrefix(got, "403") {
		t.Errorf("got %s, want 403", got)
	}
	in.Lift()
	if got := outcome(t, proxy, "GET"); got != "200" {
		t.Errorf("after the lift: got %s, want 200", got)
	}
}

func TestRequestIsDelayed(t *testing.T) {
	_, proxy := start(t)
	proxy.Inject(onPods, faultproxy.Fault{Effect: faultproxy.Delay, Milliseconds: 200})
	began := time.Now()
	if got := outcome(t, proxy, "GET"); got != "200" || time.Since(began) < 200*time.Millisecond {
		t.Errorf("got %s after %s, want 200 after 200 ms", got, time.Since(began))
	}
}

// giveUp sends a request that the client gives up when it has had the fault for a while.
func giveUp(t *testing.T, in *faultproxy.Injected, method, url string) error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	before, _ := in.Hits()
	answered := make(chan error, 1)
	go func() {
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			_ = response.Body.Close()
		}
		answered <- err
	}()
	awaitHits(t, in, before+1)
	select {
	case err := <-answered:
		return err
	case <-time.After(50 * time.Millisecond):
	}
	cancel()
	return <-answered
}

// awaitHits waits until so many requests had the fault.
func awaitHits(t *testing.T, in *faultproxy.Injected, n int) {
	t.Helper()
	e2e.Eventually(t, fmt.Sprintf("%d requests to have the fault", n), e2e.Patience, func() error {
		if hits, _ := in.Hits(); hits < n {
			return fmt.Errorf("%d have it", hits)
		}
		return nil
	})
}

func TestBlackholeSendsNoHeaders(t *testing.T) {
	api, proxy := start(t)
	in := proxy.Inject(onPods, faultproxy.Fault{Effect: faultproxy.Blackhole})
	for _, url := range []string{pods, pods + "?watch=true"} {
		if err := giveUp(t, in, "GET", proxy.URL()+url); err == nil {
			t.Errorf("%s was answered", url)
		}
	}
	if asked := api.wasAsked(); len(asked) != 0 {
		t.Errorf("the server was asked %q", asked)
	}
	cut := make(chan string, 1)
	go func() { cut <- outcome(t, proxy, "GET") }()
	awaitHits(t, in, 3)
	in.Lift()
	if got := <-cut; got != "cut" {
		t.Errorf("a request in the hole: got %s, want cut", got)
	}
}

func TestLateWriteReachesTheServerAfterItsClientHasGone(t *testing.T) {
	api, proxy := start(t)
	in := proxy.Inject(onPods, faultproxy.Fault{Effect: faultproxy.Late, Milliseconds: 60_000})
	if err := giveUp(t, in, "POST", proxy.URL()+pods); err == nil {
		t.Error("a late write was answered")
	}
	if asked := api.wasAsked(); len(asked) != 0 {
		t.Errorf("the server was asked %q too early", asked)
	}
	in.Lift()
	e2e.Eventually(t, "the write to reach the server", e2e.Patience, func() error {
		if len(api.wasAsked()) == 0 {
			return errors.New("it was not asked")
		}
		return nil
	})
}

// TestBodyWithAnID reads two answers: each has another text.
func TestBodyWithAnID(t *testing.T) {
	_, proxy := start(t)
	proxy.Inject(onPods, faultproxy.Fault{Effect: faultproxy.Reply, Answer: faultproxy.Answer{Code: 502, Body: faultproxy.WithID}})
	var bodies [2]string
	for i := range bodies {
		response, err := do(t, "POST", proxy.URL()+pods)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		bodies[i] = string(body)
	}
	if bodies[0] == bodies[1] || !strings.Contains(bodies[0], "request id") {
		t.Errorf("the bodies are %q", bodies)
	}
}
