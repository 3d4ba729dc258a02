package meter

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const event = `{"type":"ADDED"}` + "\n"

// apiServer answers a watch with an event at a time, and everything else at once.
func apiServer(t *testing.T) (config *rest.Config, events chan<- string) {
	sent := make(chan string)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			t.Errorf("the credentials are %q", r.Header.Get("Authorization"))
		}
		if r.URL.Query().Get("watch") == "" {
			fmt.Fprint(w, "a list")
			return
		}
		for {
			select {
			case text := <-sent:
				fmt.Fprint(w, text)
				w.(http.Flusher).Flush()
			case <-r.Context().Done():
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL, BearerToken: "secret"}, sent
}

func TestWatchesAreCounted(t *testing.T) {
	config, events := apiServer(t)
	m, err := Start(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Stop)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := m.WriteKubeconfig(path); err != nil {
		t.Fatal(err)
	}
	client, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(client)
	if err != nil {
		t.Fatal(err)
	}
	get := func(uri string) *http.Response {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, client.Host+uri, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := transport.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = answer.Body.Close() })
		return answer
	}
	body := make([]byte, 100)
	read := func(answer *http.Response, want string) {
		t.Helper()
		if n, err := answer.Body.Read(body); string(body[:n]) != want {
			t.Fatalf("got %q, %v, want %q", body[:n], err, want)
		}
	}
	list := get("/foos")
	read(list, "a list")
	if m.Watched() != 0 {
		t.Errorf("%d bytes of a list count", m.Watched())
	}
	go func() { events <- event }() // The answer begins with the first event.
	watch := get("/foos?watch=1")
	read(watch, event)
	events <- event
	read(watch, event) // It is passed on while the watch runs.
	if watch.ProtoMajor != 2 {
		t.Errorf("the meter speaks %s", watch.Proto)
	}
	all := func(context.Context) (bool, error) { return m.Watched() == int64(2*len(event)), nil }
	if err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, 10*time.Second, true, all); err != nil {
		t.Errorf("got %d bytes of watches: %v", m.Watched(), err)
	}
}
