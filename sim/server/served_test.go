package server_test

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"

	builtin "reconcel/rules/schema"
	"reconcel/sim"
	"reconcel/sim/server"
)

var builtinKinds = sync.OnceValue(func() *sim.Kinds {
	kinds, err := sim.NewKinds(builtin.Builtin())
	if err != nil {
		panic(err)
	}
	return kinds
})

// soon is the deadline of what a server does at once. It is long, because other tests use the machine, too.
const soon = 2 * time.Minute

// A served is a cluster in memory that is served on loopback.
type served struct {
	*testing.T
	cluster *sim.Cluster
	access  server.Access
	address string
	// handling is the number of requests that are served now.
	handling *atomic.Int64
}

// serve serves an empty cluster until the test ends. A history of 0 is that of the dev command.
func serve(t *testing.T, history int) *served {
	t.Helper()
	if history == 0 {
		history = 2000
	}
	cluster, err := sim.New(sim.Options{Kinds: builtinKinds(), Clock: clock.RealClock{}, History: history})
	if err != nil {
		t.Fatal(err)
	}
	access, err := server.NewAccess()
	if err != nil {
		t.Fatal(err)
	}
	handler := server.New(server.Options{Cluster: cluster, Builtin: builtinKinds(), Token: access.Token,
		Problem: func(err error) { t.Errorf("problem: %v", err) }})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	handling := new(atomic.Int64)
	counted := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handling.Add(1)
		defer handling.Add(-1)
		handler.ServeHTTP(w, r)
	})
	s := &http.Server{Handler: counted, ErrorLog: log.New(io.Discard, "", 0),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{access.Certificate}}}
	ctx, cancel := context.WithCancel(context.Background())
	var background sync.WaitGroup
	background.Go(func() { handler.Run(ctx) })
	background.Go(func() { _ = s.ServeTLS(listener, "", "") })
	t.Cleanup(func() {
		cancel()
		_ = s.Close()
		background.Wait()
	})
	return &served{t, cluster, access, listener.Addr().String(), handling}
}

// config returns how a client connects. It is not limited by client-go.
func (s *served) config() *rest.Config {
	s.Helper()
	text, err := s.access.Kubeconfig(s.address, "test")
	if err != nil {
		s.Fatal(err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(text)
	if err != nil {
		s.Fatal(err)
	}
	config.QPS = -1
	return config
}

func (s *served) dynamic() dynamic.Interface {
	s.Helper()
	client, err := dynamic.NewForConfig(s.config())
	if err != nil {
		s.Fatal(err)
	}
	return client
}

// eventually waits until a condition holds.
func (s *served) eventually(what string, holds func() bool) {
	s.Helper()
	if err := wait.PollUntilContextTimeout(s.Context(), 2*time.Millisecond, soon, true,
		func(context.Context) (bool, error) { return holds(), nil }); err != nil {
		s.Fatalf("after %v, not yet: %s", soon, what)
	}
}

var (
	configMaps  = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	crds        = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

// configMap returns a ConfigMap with one value.
func configMap(name, value string, labels ...any) *unstructured.Unstructured {
	metadata := map[string]any{"name": name, "namespace": "default"}
	if len(labels) > 0 {
		all := map[string]any{}
		for i := 0; i < len(labels); i += 2 {
			all[labels[i].(string)] = labels[i+1]
		}
		metadata["labels"] = all
	}
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata,
		"data": map[string]any{"value": value}}}
}

// crd returns a CRD of a kind with spec.size, spec.replicas, status and scale.
func crd(plural, kind string) *unstructured.Unstructured {
	integer := map[string]any{"type": "integer"}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": plural + ".example.com"},
		"spec": map[string]any{
			"group": "example.com", "scope": "Namespaced",
			"names": map[string]any{"plural": plural, "singular": strings.ToLower(kind), "kind": kind, "listKind": kind + "List"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"subresources": map[string]any{"status": map[string]any{}, "scale": map[string]any{
					"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}},
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{
					"spec":   map[string]any{"type": "object", "properties": map[string]any{"size": integer, "replicas": integer}},
					"status": map[string]any{"type": "object", "properties": map[string]any{"replicas": integer}},
				}}},
			}},
		},
	}}
}

func isEstablished(u *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range conditions {
		if c, _ := c.(map[string]any); c["type"] == "Established" && c["status"] == "True" {
			return true
		}
	}
	return false
}

var always = metav1.ListOptions{}
