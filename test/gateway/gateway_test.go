package gateway_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	clientauth "k8s.io/client-go/pkg/apis/clientauthentication/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"reconcel/test/gateway"
)

// TestMain makes the test binary an exec plugin where a kubeconfig starts it as one.
func TestMain(m *testing.M) {
	if !gateway.RunPlugin(os.Stdout) {
		m.Run()
	}
}

// start starts a gateway in front of a server that answers each request with its path.
func start(t *testing.T, options gateway.Options) *gateway.Gateway {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("the credentials of the client were passed on")
		}
		_, _ = w.Write([]byte(r.URL.Path))
	}))
	t.Cleanup(server.Close)
	return gateway.Start(t, &rest.Config{Host: server.URL}, options)
}

// clientOf returns client-go's client for a kubeconfig, with connections of its own.
func clientOf(t *testing.T, kubeconfig string) (*http.Client, *rest.Config) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	return client, config
}

// get returns the status of a request that must be answered within a time.
func get(t *testing.T, client *http.Client, url string, within time.Duration) (int, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}

func TestReachable(t *testing.T) {
	for name, test := range map[string]struct {
		options gateway.Options
		change  func(*api.Cluster, *api.AuthInfo)
		want    gateway.Protocol
	}{
		"any protocol": {want: gateway.HTTP2},
		"HTTP/1.1":     {options: gateway.Options{Protocol: gateway.HTTP1}, want: gateway.HTTP1},
		"HTTP/2":       {options: gateway.Options{Protocol: gateway.HTTP2}, want: gateway.HTTP2},
		"another name": {options: gateway.Options{Names: []string{"api.example"}}, want: gateway.HTTP2,
			change: func(c *api.Cluster, _ *api.AuthInfo) { c.TLSServerName = "api.example" }},
		"under a path": {options: gateway.Options{Prefix: "/clusters/one"}, want: gateway.HTTP2},
		"IPv6":         {options: gateway.Options{Address: "[::1]:0"}, want: gateway.HTTP2},
	} {
		t.Run(name, func(t *testing.T) {
			needs(t, test.options)
			g := start(t, test.options)
			client, config := clientOf(t, g.Kubeconfig(t, test.change))
			if code, err := get(t, client, config.Host+"/api/v1/pods", time.Minute); code != 200 || err != nil {
				t.Fatalf("%d, %v", code, err)
			}
			if found := g.Requests(func(r gateway.Request) bool { return r.Protocol == test.want && r.Resource == "pods" }); len(found) != 1 {
				t.Errorf("the gateway got %v", found)
			}
		})
	}
	t.Run("an unexpected name", func(t *testing.T) {
		g := start(t, gateway.Options{Names: []string{"api.example"}})
		client, config := clientOf(t, g.Kubeconfig(t, nil))
		if code, err := get(t, client, config.Host, time.Minute); err == nil {
			t.Errorf("the answer is %d", code)
		}
	})
}

// needs skips a test if the machine lacks the address of a gateway.
func needs(t *testing.T, options gateway.Options) {
	t.Helper()
	if options.Address == "" {
		return
	}
	listener, err := net.Listen("tcp", options.Address)
	if err != nil {
		t.Skipf("this machine has no such address: %v", err)
	}
	_ = listener.Close() // There is no way to handle this error.
}

func TestTokenExpires(t *testing.T) {
	tokens := &gateway.Tokens{}
	g := start(t, gateway.Options{Identify: tokens.Identify})
	credentials := gateway.Serve(t, func() clientauth.ExecCredentialStatus {
		return clientauth.ExecCredentialStatus{Token: tokens.Issue(time.Hour)}
	})
	client, config := clientOf(t, g.Kubeconfig(t, func(_ *api.Cluster, user *api.AuthInfo) { user.Exec = credentials.Plugin(t) }))
	for _, want := range []int{200, 200} {
		if code, err := get(t, client, config.Host, time.Minute); code != want || err != nil {
			t.Errorf("%d, %v", code, err)
		}
	}
	tokens.RevokeAll()
	for _, want := range []int{401, 200} { // The answer makes client-go get another token.
		if code, err := get(t, client, config.Host, time.Minute); code != want || err != nil {
			t.Errorf("after the revocation: %d instead of %d, %v", code, want, err)
		}
	}
	if refused := g.Refused(); len(refused) != 1 || refused[0].Identity != "token-1" || !strings.Contains(refused[0].Refused, "expired") {
		t.Errorf("refused: %v", refused)
	}
	if credentials.Given() != 2 || tokens.Issued() != 2 {
		t.Errorf("the plugin was used %d times", credentials.Given())
	}
}

func TestCertificateIsCheckedOnEachRequest(t *testing.T) {
	clients := gateway.NewAuthority(t)
	g := start(t, gateway.Options{Identify: clients.Identify})
	pair := clients.Issue(time.Hour)
	client, config := clientOf(t, g.Kubeconfig(t, func(_ *api.Cluster, user *api.AuthInfo) {
		user.ClientCertificateData, user.ClientKeyData = pair.Cert, pair.Key
	}))
	if code, err := get(t, client, config.Host, time.Minute); code != 200 || err != nil {
		t.Errorf("%d, %v", code, err)
	}
	clients.Revoke(pair)
	if code, err := get(t, client, config.Host, time.Minute); code != 401 || err != nil {
		t.Errorf("after the revocation: %d, %v", code, err)
	}
	if g.Closed() != 0 {
		t.Error("the connection has ended")
	}
}

func TestPacketsAreSwallowed(t *testing.T) {
	for _, protocol := range []gateway.Protocol{gateway.HTTP1, gateway.HTTP2} {
		t.Run(string(protocol), func(t *testing.T) {
			g := start(t, gateway.Options{Protocol: protocol})
			kubeconfig := g.Kubeconfig(t, nil)
			old, config := clientOf(t, kubeconfig)
			if code, err := get(t, old, config.Host, time.Minute); code != 200 || err != nil {
				t.Fatalf("%d, %v", code, err)
			}
			dies := func(client *http.Client, what string) {
				t.Helper()
				if code, err := get(t, client, config.Host, 100*time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s: %d, %v", what, code, err)
				}
			}
			restore := g.SwallowAll()
			dies(old, "an open connection")
			dies(fresh(t, g), "a new connection")
			restore()
			if code, err := get(t, fresh(t, g), config.Host, time.Minute); code != 200 || err != nil {
				t.Errorf("afterwards: %d, %v", code, err)
			}
			if found := g.Requests(func(gateway.Request) bool { return true }); len(found) != 2 {
				t.Errorf("the gateway got %v", found)
			}
		})
	}
}

// fresh returns a client without connections.
func fresh(t *testing.T, g *gateway.Gateway) *http.Client {
	t.Helper()
	// client-go shares connections between configurations that are equal.
	client, _ := clientOf(t, g.Kubeconfig(t, func(c *api.Cluster, _ *api.AuthInfo) {
		c.CertificateAuthorityData = append(gateway.NewAuthority(t).PEM(), c.CertificateAuthorityData...)
	}))
	return client
}

func TestRenewedCertificate(t *testing.T) {
	g := start(t, gateway.Options{})
	client, config := clientOf(t, g.Kubeconfig(t, nil))
	if code, err := get(t, client, config.Host, time.Minute); code != 200 || err != nil {
		t.Fatalf("%d, %v", code, err)
	}
	g.Renew(gateway.NewAuthority(t))
	if code, err := get(t, client, config.Host, time.Minute); code != 200 || err != nil {
		t.Errorf("an open connection: %d, %v", code, err)
	}
	g.Cut()
	if code, err := get(t, client, config.Host, time.Minute); err == nil {
		t.Errorf("a new connection: %d", code)
	}
	if code, err := get(t, fresh(t, g), config.Host, time.Minute); code != 200 || err != nil {
		t.Errorf("a client of the new authority: %d, %v", code, err)
	}
}

func TestTunnel(t *testing.T) {
	g, tunnel := start(t, gateway.Options{}), gateway.StartTunnel(t)
	client, config := clientOf(t, g.Kubeconfig(t, func(c *api.Cluster, _ *api.AuthInfo) { c.ProxyURL = tunnel.URL() }))
	if code, err := get(t, client, config.Host, time.Minute); code != 200 || err != nil {
		t.Errorf("%d, %v", code, err)
	}
	if targets := tunnel.Targets(); len(targets) != 1 || "https://"+targets[0] != g.URL() {
		t.Errorf("the proxy has seen %v", targets)
	}
}

func TestIdleConnectionIsClosed(t *testing.T) {
	g := start(t, gateway.Options{IdleTimeout: 200 * time.Millisecond})
	client, config := clientOf(t, g.Kubeconfig(t, nil))
	if code, err := get(t, client, config.Host, time.Minute); code != 200 || err != nil {
		t.Errorf("%d, %v", code, err)
	}
	for deadline := time.Now().Add(time.Minute); g.Closed() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("after a minute the connection is open")
		}
	}
}
