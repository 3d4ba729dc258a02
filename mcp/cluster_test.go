package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// TestClusterIsReadOnly asks the port that reconcel gets for everything that it must not give.
func TestClusterIsReadOnly(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	c := newCluster(t, f)
	s := &server{kubeconfig: c.kubeconfig}
	kubeconfig := ""
	err := s.lend(t.Context(), func(path string) error {
		kubeconfig = path
		config, err := clientcmd.BuildConfigFromFlags("", path)
		if err != nil {
			return err
		}
		transport, err := rest.TransportFor(config)
		if err != nil {
			return err
		}
		ask := func(method, path string, headers ...string) (int, string) {
			req, err := http.NewRequestWithContext(t.Context(), method, config.Host+path, strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			for i := 0; i < len(headers); i += 2 {
				req.Header.Set(headers[i], headers[i+1])
			}
			answer, err := transport.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			text, err := io.ReadAll(answer.Body)
			if err != nil {
				t.Fatal(err)
			}
			for _, leak := range leaks {
				if strings.Contains(string(text), leak) {
					t.Errorf("%s %s: it says %q", method, path, leak)
				}
			}
			return answer.StatusCode, string(text)
		}
		const secrets, website = "/api/v1/namespaces/default/secrets", "/apis/example.com/v1alpha1/namespaces/default/websites/shop"
		for _, accept := range []string{"", "application/json", "application/yaml", "application/vnd.kubernetes.protobuf",
			"application/json;as=Table;g=meta.k8s.io;v=v1", "application/cbor",
			"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"} {
			for _, encoding := range []string{"identity", "gzip"} {
				if code, text := ask("GET", secrets+"/password", "Accept", accept, "Accept-Encoding", encoding); code != 200 || !json.Valid([]byte(text)) {
					t.Errorf("Accept %s, %s: %d %s", accept, encoding, code, text)
				}
			}
		}
		for _, path := range []string{secrets, "/api/v1/secrets", secrets + "/password", secrets + "?limit=5"} {
			if code, text := ask("GET", path); code != 200 || !strings.Contains(text, `"password":"`+withheld+`"`) {
				t.Errorf("%s: %d %s", path, code, text)
			}
		}
		for _, path := range []string{website, "/version", "/api", "/apis", "/api/v1", "/openapi/v3", "/api/v1/namespaces/default/configmaps",
			website + "/status", "/api/v1/namespaces", "/api/v1/namespaces/default"} {
			if code, text := ask("GET", path); code != 200 {
				t.Errorf("%s: %d %s", path, code, text)
			}
		}
		before := len(c.seen())
		for _, path := range []string{secrets + "?watch=true", secrets + "?watch=1", secrets + "?watch", "/api/v1/watch/secrets",
			"/api/v1/watch/namespaces/default/secrets", secrets + "/", "/api/v1//secrets", "/api/v1/namespaces/default/%73ecrets/password",
			"/api/v1/x/../secrets", "/api/v1/namespaces/default/pods/a/log", "/api/v1/namespaces/default/pods/a/exec?command=sh",
			"/api/v1/namespaces/default/services/a/proxy", "/api/v1/nodes/a/proxy/configz", "/metrics", "/logs", "/debug/pprof", "/"} {
			if code, text := ask("GET", path); code != http.StatusForbidden {
				t.Errorf("%s: %d %s", path, code, text)
			}
		}
		for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "CONNECT", "get"} {
			if code, text := ask(method, website); code != http.StatusForbidden {
				t.Errorf("%s: %d %s", method, code, text)
			}
		}
		for _, method := range []string{"GET", "DELETE"} {
			if code, text := ask(method, website, "Authorization", "Bearer guessed"); code != http.StatusUnauthorized {
				t.Errorf("%s with another token: %d %s", method, code, text)
			}
		}
		if more := c.seen()[before:]; len(more) > 0 {
			t.Errorf("the cluster saw %v", more)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(kubeconfig); err == nil {
		t.Errorf("%s is left", kubeconfig)
	}
}

// TestKubeconfigThatIsWrong names files and contexts that do not exist.
func TestKubeconfigThatIsWrong(t *testing.T) {
	t.Parallel()
	here := folder(t.TempDir())
	here.write(t, "config", "apiVersion: v1\nkind: Config\ncontexts: [{name: a, context: {cluster: gone}}]\ncurrent-context: a\n")
	for _, s := range []*server{
		{kubeconfig: filepath.Join(string(here), "gone")},
		{kubeconfig: filepath.Join(string(here), "config")},
		{kubeconfig: filepath.Join(string(here), "config"), context: "other"},
	} {
		if err := s.lend(context.Background(), func(string) error { return nil }); err == nil || !strings.HasPrefix(err.Error(), "kubeconfig: ") && !strings.HasPrefix(err.Error(), "no cluster: ") {
			t.Errorf("%v: %v", s, err)
		}
	}
}

// TestKubeconfigInTheFolder is about a kubeconfig that whoever writes files for the tools could change.
func TestKubeconfigInTheFolder(t *testing.T) {
	t.Parallel()
	here, outside := folder(t.TempDir()), folder(t.TempDir())
	const text = "apiVersion: v1\nkind: Config\nclusters: [{name: a, cluster: {server: 'http://127.0.0.1:1'}}]\n" +
		"users: [{name: a, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: touch, args: [ran], interactiveMode: Never}}}]\n" +
		"contexts: [{name: a, context: {cluster: a, user: a}}]\ncurrent-context: a\n"
	here.write(t, "sub/config", text)
	link := filepath.Join(string(outside), "link")
	if err := os.Symlink(filepath.Join(string(here), "sub/config"), link); err != nil {
		t.Fatal(err)
	}
	within, err := absolute(string(here))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(string(here), "sub/config"), link} {
		s := &server{folder: within, kubeconfig: path}
		if err := s.lend(t.Context(), func(string) error { return nil }); err == nil || !strings.Contains(err.Error(), "is in the folder") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestUpgradeIsRefused asks for another protocol, which HTTP/1.1 allows.
func TestUpgradeIsRefused(t *testing.T) {
	t.Parallel()
	req := httptest.NewRequest(http.MethodGet, "/api", nil)
	req.Header.Set("Authorization", "Bearer token")
	req.Header.Set("Upgrade", "websocket")
	w := httptest.NewRecorder()
	(&reader{token: "token"}).ServeHTTP(w, req)
	if w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), "only reads") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
