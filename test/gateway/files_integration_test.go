//go:build integration

package gateway_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd/api"

	"reconcel/test/devcluster"
	"reconcel/test/e2e"
	"reconcel/test/gateway"
	"reconcel/test/soak"
)

// client-go reads files again after these times. It reads a token 10 s before the minute
// that it trusts it for.
const (
	tokenInterval = time.Minute
	filesInterval = 5 * time.Minute
	slack         = 15 * time.Second // for the request that notices
)

// replace replaces a file as the kubelet does: a reader sees the old content or the new.
func replace(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// TestTokenFile replaces a token file, as the kubelet does before a token ends.
func TestTokenFile(t *testing.T) {
	t.Parallel()
	i, tokens := newInstallation(t), &gateway.Tokens{}
	g := gateway.Start(t, i.Cluster.UserConfig(t, e2e.User), gateway.Options{Identify: tokens.Identify})
	file := filepath.Join(t.TempDir(), "token")
	first := tokens.Issue(time.Hour)
	replace(t, file, []byte(first))
	i.works(g.Kubeconfig(t, func(_ *api.Cluster, user *api.AuthInfo) { user.TokenFile = file }))
	replace(t, file, []byte(tokens.Issue(time.Hour)))
	i.keepsWorking(time.Now().Add(tokenInterval + slack))
	tokens.Revoke(first)
	i.keepsWorking(time.Now().Add(slack))
	i.nobodyRefused(g)
	i.wroteOnce(0)
	i.rotated(g, 2, "PATCH deployments", "PATCH foos", "PUT leases")
}

// TestCertificateFile replaces a client certificate. A new connection has the new one at
// once, and an open connection is closed when client-go reads the file again.
func TestCertificateFile(t *testing.T) {
	t.Parallel()
	i, clients := newInstallation(t), gateway.NewAuthority(t)
	g := gateway.Start(t, i.Cluster.UserConfig(t, e2e.User), gateway.Options{Identify: clients.Identify})
	folder := t.TempDir()
	cert, key := filepath.Join(folder, "tls.crt"), filepath.Join(folder, "tls.key")
	renew := func() gateway.Pair {
		pair := clients.Issue(time.Hour)
		replace(t, key, pair.Key)
		replace(t, cert, pair.Cert)
		return pair
	}
	first := renew()
	i.works(g.Kubeconfig(t, func(_ *api.Cluster, user *api.AuthInfo) { user.ClientCertificate, user.ClientKey = cert, key }))
	i.change(promptly)

	second := renew()
	g.Cut()
	i.change(promptly)
	clients.Revoke(first)
	i.keepsWorking(time.Now().Add(slack))
	i.rotated(g, 2, "PATCH deployments", "WATCH foos")
	if soak.Enabled() {
		renew()
		i.keepsWorking(time.Now().Add(filesInterval + slack))
		clients.Revoke(second)
		i.keepsWorking(time.Now().Add(slack))
		i.rotated(g, 3, "PATCH deployments", "PATCH foos", "PUT leases", "WATCH foos", "WATCH deployments")
	}
	i.nobodyRefused(g)
	i.wroteOnce(g.Lost())
}

// TestCAFile replaces the certificate of the authority that signs the server's, as a
// cluster rotates it: the file has both before the server has a new certificate.
func TestCAFile(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	g := gateway.Start(t, i.Cluster.UserConfig(t, e2e.User), gateway.Options{})
	file, next := filepath.Join(t.TempDir(), "ca.crt"), gateway.NewAuthority(t)
	replace(t, file, g.CA())
	i.works(g.Kubeconfig(t, withCAFile(file)))
	i.change(promptly)
	if !soak.Enabled() {
		i.wroteOnce(0)
		return
	}
	replace(t, file, bytes.Join([][]byte{g.CA(), next.PEM()}, nil))
	i.keepsWorking(time.Now().Add(filesInterval + slack))
	g.Renew(next)
	g.Cut()
	i.keepsWorking(time.Now().Add(slack))
	i.wroteOnce(g.Lost())
}

// TestCAFileTooLate replaces the file when the server already has a new certificate. No
// connection can be made until client-go reads the file again.
func TestCAFileTooLate(t *testing.T) {
	t.Parallel()
	if !soak.Enabled() {
		t.Skip("it takes five minutes: make soak-credentials")
	}
	i := newInstallation(t)
	g := gateway.Start(t, i.Cluster.UserConfig(t, e2e.User), gateway.Options{})
	file, next := filepath.Join(t.TempDir(), "ca.crt"), gateway.NewAuthority(t)
	replace(t, file, g.CA())
	// A leader would lose the Lease and end: its next process reads the file at once.
	i.works(g.Kubeconfig(t, withCAFile(file)), "--leader-elect=false")
	i.change(promptly)
	started := time.Now()
	g.Renew(next)
	g.Cut()
	replace(t, file, next.PEM())
	// Watches that fail are repeated after up to half a minute.
	i.change(filesInterval + 45*time.Second)
	t.Logf("reconciled %s after the CA was replaced", time.Since(started).Round(time.Second))
	i.keepsWorking(time.Now().Add(slack))
	i.wroteOnce(g.Lost())
}

func withCAFile(path string) func(*api.Cluster, *api.AuthInfo) {
	return func(cluster *api.Cluster, _ *api.AuthInfo) {
		cluster.CertificateAuthorityData, cluster.CertificateAuthority = nil, path
	}
}

// TestServiceAccountToken uses a token that the API server has issued.
func TestServiceAccountToken(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	i.Create("{apiVersion: v1, kind: ServiceAccount, metadata: {name: controller}}")
	i.Create(`{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: controller},
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin},
  subjects: [{kind: ServiceAccount, name: controller, namespace: NAMESPACE}]}`)
	file := filepath.Join(t.TempDir(), "token")
	token := func() []byte {
		return []byte(i.Kubectl("create", "token", "controller", "-n", i.Namespace))
	}
	replace(t, file, token())
	config := i.Cluster.Config()
	i.works(kubeconfigOf(t, config, func(user *api.AuthInfo) { user.TokenFile = file }))
	for range 3 {
		replace(t, file, token())
		i.change(promptly)
	}
	account := "system:serviceaccount:" + i.Namespace + ":controller"
	if found := i.Requests(func(r devcluster.Request) bool {
		return r.User == account && r.Resource == "deployments" && r.IsWrite() && r.Code < 300
	}); len(found) != i.made {
		t.Errorf("%s sent %d writes of the Deployment for %d changes", account, len(found), i.made)
	}
}
