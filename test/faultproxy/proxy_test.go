package faultproxy_test

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"reconcel/test/e2e"
	"reconcel/test/faultproxy"
)

// server replaces the API server: it records its requests, and its watches send the
// contents of events.
type server struct {
	mu     sync.Mutex
	asked  []string
	accept string
	query  string // of the last request
	body   string // of answers, {} by default
	events chan string
}

func start(t *testing.T) (*server, *faultproxy.Proxy) {
	t.Helper()
	s := &server{events: make(chan string)}
	api := httptest.NewServer(s)
	t.Cleanup(func() {
		api.CloseClientConnections()
		api.Close()
	})
	return s, faultproxy.Start(t, &rest.Config{Host: api.URL})
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked = append(s.asked, r.Method+" "+r.URL.Path)
	s.accept, s.query = r.Header.Get("Accept"), r.URL.RawQuery
	body := cmp.Or(s.body, "{}")
	s.mu.Unlock()
	if r.URL.Query().Get("watch") == "" {
		fmt.Fprint(w, body)
		return
	}
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
	for {
		select {
		case event := <-s.events:
			fmt.Fprintln(w, event)
			_ = http.NewResponseController(w).Flush()
		case <-r.Context().Done():
			return
		}
	}
}

func (s *server) wasAsked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

func do(t *testing.T, method, url string) (*http.Response, error) {
	t.Helper()
	// A GET has no body: a server that answers before it reads one can end the connection.
	var body io.Reader
	if method != http.MethodGet {
		body = strings.NewReader("{}")
	}
	request, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "application/cbor")
	response, err := http.DefaultClient.Do(request)
	if err == nil {
		t.Cleanup(func() { response.Body.Close() })
	}
	return response, err
}

const pods = "/api/v1/namespaces/a/pods"

func TestWritesAreCounted(t *testing.T) {
	_, proxy := start(t)
	var seen []string
	proxy.OnWrite(func(w faultproxy.Write) bool {
		seen = append(seen, fmt.Sprintf("%d %s %t %d", w.N, w.Request, w.Committed, w.Code))
		return true
	})
	for _, r := range []string{
		"GET " + pods, "POST " + pods, "POST /api/v1/namespaces/a/events", "PUT /apis/coordination.k8s.io/v1/namespaces/a/leases/x",
		"POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "PATCH " + pods + "/x?dryRun=All", "POST /version",
		"PATCH /apis/apps/v1/namespaces/a/deployments/web/status?fieldManager=x", "DELETE /api/v1/namespaces/a", "PUT /api/v1/namespaces/a/finalize",
	} {
		method, url, _ := strings.Cut(r, " ")
		if _, err := do(t, method, proxy.URL()+url); err != nil {
			t.Errorf("%s: %v", r, err)
		}
	}
	want := []string{
		"1 POST pods a/ false 0", "1 POST pods a/ true 200",
		"2 PATCH deployments.apps/status a/web false 0", "2 PATCH deployments.apps/status a/web true 200",
		"3 DELETE namespaces a false 0", "3 DELETE namespaces a true 200",
		"4 PUT namespaces/finalize a false 0", "4 PUT namespaces/finalize a true 200",
	}
	if !slices.Equal(seen, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(seen, "\n"), strings.Join(want, "\n"))
	}
	if n := proxy.Writes(); n != 4 {
		t.Errorf("%d writes, want 4", n)
	}
}

func TestWriteIsCut(t *testing.T) {
	for _, committed := range []bool{false, true} {
		t.Run(fmt.Sprintf("committed %t", committed), func(t *testing.T) {
			api, proxy := start(t)
			proxy.OnWrite(func(w faultproxy.Write) bool { return w.N != 2 || w.Committed != committed })
			if _, err := do(t, "POST", proxy.URL()+pods); err != nil {
				t.Errorf("the first: %v", err)
			}
			if response, err := do(t, "POST", proxy.URL()+pods); err == nil {
				t.Errorf("the second was answered: %s", response.Status)
			}
			if _, err := do(t, "POST", proxy.URL()+pods); err != nil {
				t.Errorf("the third: %v", err)
			}
			want := 2
			if committed {
				want = 3
			}
			if got := api.wasAsked(); len(got) != want {
				t.Errorf("the server was asked %q, want %d", got, want)
			}
		})
	}
}

// watch returns the lines of a watch as they arrive.
func watch(t *testing.T, url string) <-chan string {
	t.Helper()
	response, err := do(t, "GET", url+"?watch=true")
	if err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 100)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(response.Body); scanner.Scan(); {
			lines <- scanner.Text()
		}
	}()
	return lines
}

func next(t *testing.T, lines <-chan string) string {
	t.Helper()
	select {
	case line := <-lines:
		return line
	case <-time.After(e2e.Patience):
		t.Fatalf("no event within %s", e2e.Patience)
		return ""
	}
}

func TestWatchIsDelayed(t *testing.T) {
	api, proxy := start(t)
	late := watch(t, proxy.URL()+pods)
	if api.accept != "application/json" {
		t.Errorf("the watch accepts %s: its frames may not be lines", api.accept)
	}
	const by, events = 300 * time.Millisecond, 100
	proxy.DelayWatch(onPods, by) // The watch is already open.
	began := time.Now()
	for i := range events {
		api.events <- fmt.Sprint(i)
	}
	for i := range events {
		if got := next(t, late); got != fmt.Sprint(i) {
			t.Errorf("event %d came as %s", i, got)
		}
		if took := time.Since(began); took < by {
			t.Errorf("event %d took %s, want at least %s", i, took, by)
		}
	}
	if took := time.Since(began); took > events*by/2 {
		t.Errorf("%d events took %s: lateness adds up", events, took)
	}
}

func TestOtherWatchIsNotDelayed(t *testing.T) {
	api, proxy := start(t)
	proxy.DelayWatch(func(r faultproxy.Request) bool { return r.Resource == "pods" }, time.Hour)
	other := watch(t, proxy.URL()+"/apis/apps/v1/deployments")
	api.events <- "now"
	if got := next(t, other); got != "now" {
		t.Errorf("got %s", got)
	}
}

func TestLiftedDelayLetsEventsGo(t *testing.T) {
	api, proxy := start(t)
	lift := proxy.DelayWatch(func(faultproxy.Request) bool { return true }, time.Hour)
	lines := watch(t, proxy.URL()+pods)
	api.events <- "held"
	select {
	case line := <-lines:
		t.Errorf("%s came although it was to be late by an hour", line)
	case <-time.After(50 * time.Millisecond):
	}
	lift()
	if got := next(t, lines); got != "held" {
		t.Errorf("got %s", got)
	}
}

func TestWatchIsShortened(t *testing.T) {
	api, proxy := start(t)
	proxy.ShortenWatches(3)
	watch(t, proxy.URL()+pods)
	if api.query != "timeoutSeconds=3&watch=true" {
		t.Errorf("the query is %s", api.query)
	}
}

func TestKubeconfigLeadsThroughTheProxy(t *testing.T) {
	_, proxy := start(t)
	config, err := clientcmd.BuildConfigFromFlags("", proxy.Kubeconfig(t))
	if err != nil {
		t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Post(config.Host+pods, "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, err := io.ReadAll(response.Body); err != nil || string(body) != "{}" {
		t.Errorf("got %q, %v", body, err)
	}
	if n := proxy.Writes(); n != 1 {
		t.Errorf("%d writes, want 1", n)
	}
}
