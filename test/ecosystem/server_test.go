package ecosystem

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"

	"reconcel/rules/schema"
	"reconcel/sim"
	"reconcel/sim/server"
)

// soon is the deadline of what clients and server do at once. It is long, because other tests use the machine, too.
const soon = 10 * time.Second

// A memory is a cluster in memory that is served on loopback, as `reconcel dev` does it.
type memory struct {
	*testing.T
	*sim.Cluster
	kubeconfig string // its path
}

func serveMemory(t *testing.T) *memory {
	t.Helper()
	kinds, err := sim.NewKinds(schema.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := sim.New(sim.Options{Kinds: kinds, Clock: clock.RealClock{}, History: 2000})
	if err != nil {
		t.Fatal(err)
	}
	access, err := server.NewAccess()
	if err != nil {
		t.Fatal(err)
	}
	handler := server.New(server.Options{Cluster: cluster, Builtin: kinds, Token: access.Token, ReadyAfter: 10 * time.Millisecond,
		Problem: func(err error) { t.Errorf("problem: %v", err) }})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: handler, ErrorLog: log.New(io.Discard, "", 0),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{access.Certificate}}}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { handler.Run(ctx) })
	running.Go(func() { _ = s.ServeTLS(listener, "", "") })
	t.Cleanup(func() {
		cancel()
		_ = s.Close()
		running.Wait()
	})
	text, err := access.Kubeconfig(listener.Addr().String(), "memory")
	if err != nil {
		t.Fatal(err)
	}
	m := &memory{t, cluster, filepath.Join(t.TempDir(), "kubeconfig")}
	if err := os.WriteFile(m.kubeconfig, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return m
}

// eventually waits until a condition holds.
func (m *memory) eventually(what string, holds func() bool) {
	m.Helper()
	if err := wait.PollUntilContextTimeout(m.Context(), 5*time.Millisecond, soon, true,
		func(context.Context) (bool, error) { return holds(), nil }); err != nil {
		m.Fatalf("after %v, not yet: %s", soon, what)
	}
}

// find returns an object in a namespace, or nil.
func (m *memory) find(kind, namespace, name string) *unstructured.Unstructured {
	return m.Find(runtimeschema.ParseGroupKind(kind), namespace, name)
}

// field returns a field of an object in a namespace, or nil.
func (m *memory) field(kind, namespace, name string, path ...string) any {
	u := m.find(kind, namespace, name)
	if u == nil {
		return nil
	}
	value, _, _ := unstructured.NestedFieldNoCopy(u.Object, path...)
	return value
}
