//go:build integration

package gateway_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd/api"

	"reconcel/test/e2e"
	"reconcel/test/gateway"
)

// TestConnections connects in the ways in which kubeconfigs connect.
func TestConnections(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		options  gateway.Options
		change   func(*api.Cluster)
		protocol gateway.Protocol
	}{
		"any protocol":    {protocol: gateway.HTTP2},
		"HTTP/2 alone":    {options: gateway.Options{Protocol: gateway.HTTP2}, protocol: gateway.HTTP2},
		"HTTP/1.1 alone":  {options: gateway.Options{Protocol: gateway.HTTP1}, protocol: gateway.HTTP1},
		"IPv6":            {options: gateway.Options{Address: "[::1]:0"}, protocol: gateway.HTTP2},
		"path prefix":     {options: gateway.Options{Prefix: "/k8s/clusters/c-1"}, protocol: gateway.HTTP2},
		"tls-server-name": {options: gateway.Options{Names: []string{"api.example"}}, change: func(c *api.Cluster) { c.TLSServerName = "api.example" }, protocol: gateway.HTTP2},
		"insecure-skip-tls-verify": {options: gateway.Options{Names: []string{"api.example"}}, protocol: gateway.HTTP2, change: func(c *api.Cluster) {
			c.InsecureSkipTLSVerify, c.CertificateAuthorityData = true, nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			needs(t, test.options)
			i, clients := newInstallation(t), gateway.NewAuthority(t)
			test.options.Identify = clients.Identify
			pair := clients.Issue(time.Hour)
			g := gateway.Start(t, i.Cluster.UserConfig(t, e2e.User), test.options)
			i.works(g.Kubeconfig(t, func(cluster *api.Cluster, user *api.AuthInfo) {
				user.ClientCertificateData, user.ClientKeyData = pair.Cert, pair.Key
				if test.change != nil {
					test.change(cluster)
				}
			}))
			for range 3 {
				i.change(promptly)
			}
			i.wroteOnce(0)
			i.nobodyRefused(g)
			if others := g.Requests(func(r gateway.Request) bool { return r.Protocol != test.protocol }); len(others) > 0 {
				t.Errorf("%d requests were not in %s, such as %s in %s", len(others), test.protocol, others[0], others[0].Protocol)
			}
		})
	}
}

func TestProxyURL(t *testing.T) {
	t.Parallel()
	i, tunnel := newInstallation(t), gateway.StartTunnel(t)
	g := gateway.Start(t, i.Cluster.UserConfig(t, e2e.User), gateway.Options{})
	i.works(g.Kubeconfig(t, func(cluster *api.Cluster, _ *api.AuthInfo) { cluster.ProxyURL = tunnel.URL() }))
	for range 3 {
		i.change(promptly)
	}
	i.wroteOnce(0)
	targets := tunnel.Targets()
	if len(targets) == 0 || slices.ContainsFunc(targets, func(target string) bool { return "https://"+target != g.URL() }) {
		t.Errorf("the proxy has seen CONNECT %v, want only %s", targets, g.URL())
	}
}

// TestIdleConnectionsAreClosed changes a Foo whenever the balancer has closed a
// connection, which may be the one that the write needs.
func TestIdleConnectionsAreClosed(t *testing.T) {
	t.Parallel()
	for _, protocol := range []gateway.Protocol{gateway.HTTP1, gateway.HTTP2} {
		t.Run(string(protocol), func(t *testing.T) {
			t.Parallel()
			i := newInstallation(t)
			g := gateway.Start(t, i.Cluster.UserConfig(t, e2e.User), gateway.Options{Protocol: protocol, IdleTimeout: time.Second})
			// Without a Lease, whose requests keep connections busy.
			i.works(g.Kubeconfig(t, nil), "--leader-elect=false")
			for range 20 {
				closed := g.Closed()
				i.change(promptly)
				if protocol == gateway.HTTP2 {
					continue // The watches are requests on the only connection.
				}
				e2e.Poll(t, "an idle connection to be closed", 10*time.Second, time.Millisecond, func() error {
					if g.Closed() == closed {
						return errors.New("all are open")
					}
					return nil
				})
			}
			i.wroteOnce(g.Lost())
		})
	}
}
