package gateway

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientauth "k8s.io/client-go/pkg/apis/clientauthentication/v1"
	"k8s.io/client-go/tools/clientcmd/api"
)

// Credentials is a server from which an exec plugin gets the credentials of a user. The
// plugin is the test binary, whose TestMain must call RunPlugin.
type Credentials struct {
	server *httptest.Server
	given  atomic.Int64
}

// pluginURL is the variable that tells a process to be a plugin.
const pluginURL = "GATEWAY_CREDENTIALS"

// Serve starts a server that runs until the test ends. It calls give for each use of the
// plugin.
func Serve(t testing.TB, give func() clientauth.ExecCredentialStatus) *Credentials {
	c := &Credentials{}
	c.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c.given.Add(1)
		status := give()
		_ = json.NewEncoder(w).Encode(clientauth.ExecCredential{ // It fails if the plugin has gone.
			TypeMeta: metav1.TypeMeta{APIVersion: clientauth.SchemeGroupVersion.String(), Kind: "ExecCredential"},
			Status:   &status,
		})
	}))
	t.Cleanup(c.server.Close)
	return c
}

// Given returns how often the plugin was used.
func (c *Credentials) Given() int { return int(c.given.Load()) }

// Plugin returns the plugin for a kubeconfig.
func (c *Credentials) Plugin(t testing.TB) *api.ExecConfig {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatalf("gateway: %v", err)
	}
	return &api.ExecConfig{
		Command: self, APIVersion: clientauth.SchemeGroupVersion.String(), InteractiveMode: api.NeverExecInteractiveMode,
		Env: []api.ExecEnvVar{{Name: pluginURL, Value: c.server.URL}},
	}
}

// Expiry returns an expiration for ExecCredentialStatus.
func Expiry(after time.Duration) *metav1.Time { return new(metav1.NewTime(time.Now().Add(after))) }

// RunPlugin writes credentials to stdout if this process is a plugin, and reports whether
// it is.
func RunPlugin(stdout io.Writer) bool {
	url := os.Getenv(pluginURL)
	if url == "" {
		return false
	}
	response, err := http.Get(url) //nolint:gosec,noctx // The test that started this process names it.
	if err != nil {
		panic(err)
	}
	defer response.Body.Close()
	if _, err := io.Copy(stdout, response.Body); err != nil {
		panic(fmt.Errorf("credentials: %w", err))
	}
	return true
}
