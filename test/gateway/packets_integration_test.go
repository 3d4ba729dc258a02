//go:build integration

package gateway_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"reconcel/test/e2e"
	"reconcel/test/faultproxy"
	"reconcel/test/gateway"
)

// TestPacketsAreLost cuts a network that does not close connections, and changes the Foo
// meanwhile. The processes have no Lease, which they would lose earlier.
func TestPacketsAreLost(t *testing.T) {
	t.Parallel()
	const within = time.Minute
	for name, lose := range map[string]struct {
		cut  func(i *installation, g *gateway.Gateway, p *faultproxy.Proxy) time.Time // and change
		lost int
	}{
		"of open connections at rest": {cut: func(i *installation, g *gateway.Gateway, _ *faultproxy.Proxy) time.Time {
			at := time.Now()
			g.Swallow()
			i.edit()
			return at
		}},
		"of all connections for 20 s": {cut: func(i *installation, g *gateway.Gateway, _ *faultproxy.Proxy) time.Time {
			at := time.Now()
			restore := g.SwallowAll()
			i.edit()
			i.Rest(20 * time.Second)
			restore()
			return at
		}},
		"from a write on": {cut: func(i *installation, g *gateway.Gateway, p *faultproxy.Proxy) time.Time {
			return i.cutAtWrite(g, p, false)
		}},
		"from the answer of a write on": {lost: 1, cut: func(i *installation, g *gateway.Gateway, p *faultproxy.Proxy) time.Time {
			return i.cutAtWrite(g, p, true)
		}},
	} {
		for _, protocol := range []gateway.Protocol{gateway.HTTP1, gateway.HTTP2} {
			t.Run(name+" over "+string(protocol), func(t *testing.T) {
				t.Parallel()
				i := newInstallation(t)
				proxy := faultproxy.Start(t, i.Cluster.UserConfig(t, e2e.User))
				g := gateway.Start(t, &rest.Config{Host: proxy.URL()}, gateway.Options{Protocol: protocol})
				i.works(g.Kubeconfig(t, nil), "--leader-elect=false")
				i.crowd()
				i.settles()
				at := lose.cut(i, g, proxy)
				i.follows(within - time.Since(at))
				t.Logf("reconciled %s after the cut", time.Since(at).Round(100*time.Millisecond))
				i.wroteOnce(lose.lost)
			})
		}
	}
}

// cutAtWrite changes the Foo, and cuts the network when the first write of the Deployment
// is on its way, or its answer is. It returns when that was.
func (i *installation) cutAtWrite(g *gateway.Gateway, p *faultproxy.Proxy, committed bool) time.Time {
	i.Helper()
	cut := make(chan time.Time, 1)
	var done atomic.Bool
	p.OnWrite(func(w faultproxy.Write) bool {
		if w.Resource != "deployments" || w.Committed != committed || done.Swap(true) {
			return true
		}
		cut <- time.Now()
		g.Swallow()
		return false
	})
	i.edit()
	select {
	case at := <-cut:
		return at
	case <-time.After(e2e.Patience):
		i.Fatalf("waited %s for a write of the Deployment", e2e.Patience)
		return time.Time{}
	}
}

// crowd has many Foos reconciled at a time. Over HTTP/1.1, that leaves idle connections,
// which later requests may use.
func (i *installation) crowd() {
	i.Helper()
	const n = 8
	for k := range n {
		i.Create(fmt.Sprintf("{apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo, metadata: {name: other-%d}, spec: {deploymentName: other-%d, replicas: 1}}", k, k))
	}
	for k := range n {
		i.Is(e2e.Foo, fmt.Sprintf("other-%d", k), "Ready", "True")
	}
}

// settles waits until the Deployment is ready, so that nothing is written without a cause.
func (i *installation) settles() {
	i.Helper()
	i.Is(e2e.Foo, "web", "Ready", "True")
	i.Quiet(time.Second)
}
