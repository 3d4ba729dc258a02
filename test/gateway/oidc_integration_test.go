//go:build integration

package gateway_test

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"reconcel/test/e2e"
	"reconcel/test/gateway"
)

// provider is a server of OpenID Connect that only refreshes tokens.
type provider struct {
	*httptest.Server
	tokens *gateway.Tokens
}

func startProvider(t *testing.T, tokens *gateway.Tokens) *provider {
	p := &provider{tokens: tokens}
	answer := func(w http.ResponseWriter, body map[string]string) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(body) // It fails if the client has gone.
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]string{"issuer": p.URL, "token_endpoint": p.URL + "/token"})
	})
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("grant_type") != "refresh_token" || r.FormValue("refresh_token") != "refresh" {
			http.Error(w, "unknown grant", http.StatusBadRequest)
			return
		}
		answer(w, map[string]string{"id_token": p.issue(), "access_token": "unused", "token_type": "Bearer"})
	})
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

// issue issues an ID token. client-go gets another one 10 s before it expires.
func (p *provider) issue() string {
	expires := time.Now().Add(2 * lifetime)
	encode := base64.RawURLEncoding.EncodeToString
	text := fmt.Sprintf("%s.%s.%s", encode([]byte(`{"alg":"none"}`)), encode(fmt.Appendf(nil, `{"exp":%d}`, expires.Unix())), rand.Text())
	p.tokens.Accept(text, expires)
	return text
}

// TestOIDC refreshes the tokens of an auth-provider.
func TestOIDC(t *testing.T) {
	t.Parallel()
	i, tokens := newInstallation(t), &gateway.Tokens{}
	g := gateway.Start(t, i.Cluster.UserConfig(t, e2e.User), gateway.Options{Identify: tokens.Identify})
	p := startProvider(t, tokens)
	i.works(g.Kubeconfig(t, func(_ *api.Cluster, user *api.AuthInfo) {
		user.AuthProvider = &api.AuthProviderConfig{Name: "oidc", Config: map[string]string{
			"idp-issuer-url": p.URL, "client-id": "reconcel", "id-token": p.issue(), "refresh-token": "refresh",
		}}
	}))
	i.keepsWorking(time.Now().Add(4 * lifetime))
	i.nobodyRefused(g)
	i.wroteOnce(0)
	i.rotated(g, 3, "PATCH deployments", "PUT leases")
}

// kubeconfigOf returns the path of a kubeconfig for a server, without its credentials.
func kubeconfigOf(t *testing.T, server *rest.Config, change func(*api.AuthInfo)) string {
	t.Helper()
	cluster, user := api.NewCluster(), api.NewAuthInfo()
	cluster.Server, cluster.CertificateAuthorityData = server.Host, server.CAData
	change(user)
	config := api.NewConfig()
	config.Clusters["cluster"], config.AuthInfos["client"] = cluster, user
	config.Contexts["context"] = &api.Context{Cluster: "cluster", AuthInfo: "client"}
	config.CurrentContext = "context"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}
