package faultproxy_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"reconcel/test/e2e"
	"reconcel/test/faultproxy"
)

// connect returns a link to a server that reports its requests, and a client that uses
// the link.
func connect(t *testing.T) (link *faultproxy.Link, get func(context.Context, string) error, asked chan string) {
	t.Helper()
	asked = make(chan string, 10)
	server := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.URL.Path }))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	direct := filepath.Join(t.TempDir(), "kubeconfig")
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: server.URL, InsecureSkipTLSVerify: true}
	config.Contexts["c"] = &clientcmdapi.Context{Cluster: "c"}
	config.CurrentContext = "c"
	if err := clientcmd.WriteToFile(*config, direct); err != nil {
		t.Fatal(err)
	}
	link = faultproxy.Connect(t, direct)
	through, err := clientcmd.BuildConfigFromFlags("", link.Kubeconfig(t))
	if err != nil {
		t.Fatal(err)
	}
	through.NextProtos = []string{"http/1.1"}
	client, err := rest.HTTPClientFor(through)
	if err != nil {
		t.Fatal(err)
	}
	get = func(ctx context.Context, path string) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, through.Host+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(r)
		if err != nil {
			return err
		}
		return response.Body.Close()
	}
	return link, get, asked
}

// wasAsked returns the next request that a server received.
func wasAsked(t *testing.T, asked <-chan string) string {
	t.Helper()
	select {
	case path := <-asked:
		return path
	case <-time.After(e2e.Patience):
		t.Fatalf("the server was not asked for anything within %s", e2e.Patience)
		return ""
	}
}

func TestLinkDeliversLate(t *testing.T) {
	link, get, asked := connect(t)
	if err := get(t.Context(), "/plain"); err != nil || wasAsked(t, asked) != "/plain" {
		t.Fatalf("without orders: %v", err)
	}
	link.Hold(faultproxy.ToServer)
	short, cancel := context.WithCancel(t.Context())
	defer cancel()
	short = httptrace.WithClientTrace(short, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) {
		time.AfterFunc(50*time.Millisecond, cancel)
	}})
	if err := get(short, "/late"); err == nil {
		t.Error("a request that is held was answered")
	}
	select {
	case path := <-asked:
		t.Errorf("%s reached the server although it is held", path)
	default:
	}
	link.Release()
	if got := wasAsked(t, asked); got != "/late" {
		t.Errorf("the server got %s instead of what was held", got)
	}
}

func TestLinkHoldsOneWay(t *testing.T) {
	link, get, asked := connect(t)
	if err := get(t.Context(), "/plain"); err != nil || wasAsked(t, asked) != "/plain" {
		t.Fatalf("without orders: %v", err)
	}
	link.Hold(faultproxy.ToClient)
	answered := make(chan error, 1)
	go func() { answered <- get(t.Context(), "/held") }()
	wasAsked(t, asked)
	select {
	case err := <-answered:
		t.Errorf("an answer that is held came: %v", err)
	default:
	}
	link.Release()
	if err := <-answered; err != nil {
		t.Errorf("after the release: %v", err)
	}
}

func TestLinkCuts(t *testing.T) {
	link, get, asked := connect(t)
	link.Hold(faultproxy.ToServer, faultproxy.ToClient)
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := get(short, "/lost"); err == nil {
		t.Error("a request that is held was answered")
	}
	link.Cut()
	if err := get(t.Context(), "/next"); err != nil {
		t.Errorf("after a cut: %v", err)
	}
	if got := wasAsked(t, asked); got != "/next" {
		t.Errorf("the server got %s, which was lost", got)
	}
}
