//go:build integration

package gateway_test

import (
	"testing"
	"time"

	clientauth "k8s.io/client-go/pkg/apis/clientauthentication/v1"
	"k8s.io/client-go/tools/clientcmd/api"

	"reconcel/test/e2e"
	"reconcel/test/gateway"
	"reconcel/test/soak"
)

// The lifetime of credentials, and how much earlier a plugin says that it ends: client-go
// uses them until then, and a request takes a while. Plugins of clouds do the same.
const (
	lifetime = 10 * time.Second
	margin   = 2 * time.Second
)

// TestExecToken works for many lifetimes of a token.
func TestExecToken(t *testing.T) {
	t.Parallel()
	i, tokens := newInstallation(t), &gateway.Tokens{}
	g := gateway.Start(t, i.Cluster.UserConfig(t, e2e.User), gateway.Options{Identify: tokens.Identify})
	credentials := gateway.Serve(t, func() clientauth.ExecCredentialStatus {
		return clientauth.ExecCredentialStatus{Token: tokens.Issue(lifetime), ExpirationTimestamp: gateway.Expiry(lifetime - margin)}
	})
	i.works(g.Kubeconfig(t, func(_ *api.Cluster, user *api.AuthInfo) { user.Exec = credentials.Plugin(t) }))
	during := 2 * time.Minute
	if soak.Enabled() {
		during = 30 * time.Minute
	}
	i.keepsWorking(time.Now().Add(during))
	i.nobodyRefused(g)
	i.wroteOnce(g.Lost())
	i.rotated(g, int(during/lifetime), "PATCH deployments", "PATCH foos", "PUT leases")
	t.Logf("%d tokens", credentials.Given())
}

// TestExecCertificate works for many lifetimes of a client certificate. Each new one
// ends all connections.
func TestExecCertificate(t *testing.T) {
	t.Parallel()
	i, clients := newInstallation(t), gateway.NewAuthority(t)
	g := gateway.Start(t, i.Cluster.UserConfig(t, e2e.User), gateway.Options{Identify: clients.Identify})
	credentials := gateway.Serve(t, func() clientauth.ExecCredentialStatus {
		pair := clients.Issue(lifetime)
		return clientauth.ExecCredentialStatus{
			ClientCertificateData: string(pair.Cert), ClientKeyData: string(pair.Key), ExpirationTimestamp: gateway.Expiry(lifetime - margin),
		}
	})
	i.works(g.Kubeconfig(t, func(_ *api.Cluster, user *api.AuthInfo) { user.Exec = credentials.Plugin(t) }))
	during := time.Minute
	if soak.Enabled() {
		during = 10 * time.Minute
	}
	i.keepsWorking(time.Now().Add(during))
	i.nobodyRefused(g)
	i.wroteOnce(g.Lost())
	i.rotated(g, int(during/lifetime), "PATCH deployments", "PATCH foos", "PUT leases", "WATCH foos", "WATCH deployments")
	t.Logf("%d certificates", credentials.Given())
}

// TestExecTokenIsRevoked ends a token that the plugin has given without an expiration.
func TestExecTokenIsRevoked(t *testing.T) {
	t.Parallel()
	i, tokens := newInstallation(t), &gateway.Tokens{}
	g := gateway.Start(t, i.Cluster.UserConfig(t, e2e.User), gateway.Options{Identify: tokens.Identify})
	credentials := gateway.Serve(t, func() clientauth.ExecCredentialStatus {
		return clientauth.ExecCredentialStatus{Token: tokens.Issue(time.Hour)}
	})
	p := i.works(g.Kubeconfig(t, func(_ *api.Cluster, user *api.AuthInfo) { user.Exec = credentials.Plugin(t) }))
	const times = 5
	for range times {
		tokens.RevokeAll()
		i.change(promptly)
	}
	i.wroteOnce(0)
	i.rotated(g, times, "PATCH deployments")
	if given := credentials.Given(); given > times+1 {
		t.Errorf("the plugin was used %d times for %d tokens", given, times+1)
	}
	if p.Ended() {
		t.Error("the process has ended")
	}
}

// rotated checks that requests of these sorts were sent with at least so many different
// credentials.
func (i *installation) rotated(g *gateway.Gateway, least int, sorts ...string) {
	i.Helper()
	all := identities(g)
	for _, sort := range sorts {
		if found := all[sort]; len(found) < least {
			i.Errorf("%s was sent with %d credentials, want at least %d: %v", sort, len(found), least, found)
		}
	}
}
