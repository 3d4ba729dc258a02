package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// programs is a folder with reconcel and reconcel-mcp.
var programs string

func TestMain(m *testing.M) {
	code := func() int {
		var err error
		if programs, err = os.MkdirTemp("", "reconcel-mcp-test-"); err != nil {
			panic(err)
		}
		defer os.RemoveAll(programs)
		for _, folder := range []string{"..", "."} {
			build := exec.Command("go", "build", "-o", programs+"/", ".")
			build.Dir, build.Stderr = folder, os.Stderr
			if err := build.Run(); err != nil {
				panic(err)
			}
		}
		return m.Run()
	}()
	os.Exit(code) //nolint:forbidigo // The tests need programs that are removed at the end.
}

// password is in a Secret of the cluster. Nothing that a tool says may contain it.
const password = "hunter2-of-the-cluster"

// leaks are the forms in which the password must not appear.
var leaks = []string{password, base64.StdEncoding.EncodeToString([]byte(password)), "aHVudGVyMi1vZi", "outside of everything"}

const (
	rulesText = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: website
  for: {apiVersion: example.com/v1alpha1, kind: Website}
  schema:
    spec: {greeting: string | default=hello}
  children:
  - id: config
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${self.metadata.name}-config"}
      data: {greeting: "${self.spec.greeting}"}
  status: {word: "${self.spec.greeting}"}
`
	websiteText = `apiVersion: example.com/v1alpha1
kind: Website
metadata: {name: shop, namespace: default}
spec: {greeting: hello}
`
	testsText = `rules: rules.yaml
crds: crd.yaml
cases:
- name: a greeting
  given: shop.yaml
  steps:
  - then: {objects: {kind: ConfigMap, metadata: {name: shop-config}, data: {greeting: hello}}}
`
	// leakingText reads the Secret into every place that a command may show.
	leakingText = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: website
  for: {apiVersion: example.com/v1alpha1, kind: Website}
  lookups:
  - {id: secret, apiVersion: v1, kind: Secret, name: password}
  let: {word: "string(base64.decode(secret.data.password))"}
  children:
  - id: config
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${self.metadata.name}-config"}
      data: {greeting: "${word}", raw: "${secret.data.password}", old: "${secret.metadata.?annotations[?'kubectl.kubernetes.io/last-applied-configuration'].orValue('none')}"}
  - id: named
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${self.metadata.name}-${word}"}
  - id: first
    when: word.startsWith("h")
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${self.metadata.name}-begins-with-h"}
  status: {word: "${word}"}
`
)

// A folder is the working folder of an agent.
type folder string

func (f folder) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(string(f), name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func newFolder(t *testing.T) folder {
	t.Helper()
	f := folder(t.TempDir())
	f.write(t, "rules.yaml", rulesText)
	f.write(t, "shop.yaml", websiteText)
	f.write(t, "tests.yaml", testsText)
	f.write(t, "leak/rules.yaml", leakingText)
	crd := exec.Command(filepath.Join(programs, "reconcel"), "crd", "-f", "rules.yaml", "-o", "crd.yaml")
	crd.Dir = string(f)
	if out, err := crd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return f
}

// A cluster in memory has the website and the Secret. It records the requests of everybody but the controller.
type cluster struct {
	kubeconfig string

	mu       sync.Mutex
	requests []string
}

func (c *cluster) seen() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.requests...)
}

func newCluster(t *testing.T, f folder) *cluster {
	t.Helper()
	own := folder(t.TempDir())
	annotated := `{"kubectl.kubernetes.io/last-applied-configuration": "{\"stringData\":{\"password\":\"` + password + `\"}}", "other.example.com/applied": "` + password + `"}`
	own.write(t, "objects.yaml", websiteText+"---\napiVersion: v1\nkind: Secret\nmetadata: {name: password, namespace: default, annotations: "+
		annotated+"}\nstringData: {password: "+password+"}\n")
	direct := filepath.Join(string(own), "kubeconfig")
	dev := exec.Command(filepath.Join(programs, "reconcel"), "dev", "-f", "rules.yaml", "--crd", "crd.yaml", "-r",
		filepath.Join(string(own), "objects.yaml"), "--write-kubeconfig", direct)
	var said bytes.Buffer
	dev.Dir, dev.Stdout, dev.Stderr = string(f), &said, &said
	if err := dev.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = dev.Process.Signal(os.Interrupt)
		_ = dev.Wait()
	})
	c := &cluster{kubeconfig: filepath.Join(string(own), "recorded")}
	c.record(t, direct)
	eventually(t, "the website to be ready", func() error {
		out, err := exec.Command(filepath.Join(programs, "reconcel"), "status", "--kubeconfig", direct, "website/shop", "-n", "default").CombinedOutput()
		if err == nil && !strings.Contains(string(out), "ready") {
			err = errors.New("it is not")
		}
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
	return c
}

// record writes a kubeconfig for a server that passes all requests on, and keeps them.
func (c *cluster) record(t *testing.T, direct string) {
	t.Helper()
	var config *rest.Config
	eventually(t, "the cluster to start", func() (err error) {
		config, err = clientcmd.BuildConfigFromFlags("", direct)
		return err
	})
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	to, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.Transport = transport
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		c.requests = append(c.requests, r.Method+" "+r.URL.String())
		c.mu.Unlock()
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	if err := clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"a": {Server: s.URL}},
		Contexts:       map[string]*clientcmdapi.Context{"a": {Cluster: "a"}},
		CurrentContext: "a",
	}, c.kubeconfig); err != nil {
		t.Fatal(err)
	}
}

// eventually waits until try returns nil.
func eventually(t *testing.T, what string, try func() error) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited 30 s for %s: %v", what, err)
		}
		<-time.After(50 * time.Millisecond)
	}
}

// An agent is a client of the protocol, of its own library.
type agent struct{ *mcp.ClientSession }

func newAgent(t *testing.T, f folder, flags ...string) agent {
	t.Helper()
	cmd := exec.Command(filepath.Join(programs, "mcp"), append([]string{"--folder", string(f)}, flags...)...)
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), "PASSWORD_OF_THE_AGENT="+password)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return agent{session}
}

type input = map[string]any

// call returns all that a tool says.
func (a agent) call(t *testing.T, tool string, in input) (text string, failed bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	result, err := a.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: in})
	if err != nil {
		return err.Error(), true
	}
	var all strings.Builder
	for _, c := range result.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			fmt.Fprintln(&all, text.Text)
		}
	}
	return all.String(), result.IsError
}
