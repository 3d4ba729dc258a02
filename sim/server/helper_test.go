package server_test

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"reconcel/rules/schema"
	"reconcel/sim"
	"reconcel/sim/server"
)

// A running is a server on loopback.
type running struct {
	*server.Server
	kubeconfig []byte
}

// start starts a server with its controllers, until the test ends.
func start(t *testing.T) running {
	t.Helper()
	kinds, err := sim.NewKinds(schema.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := sim.New(sim.Options{Kinds: kinds, Clock: clock.RealClock{}, History: 1000})
	if err != nil {
		t.Fatal(err)
	}
	access, err := server.NewAccess()
	if err != nil {
		t.Fatal(err)
	}
	s := server.New(server.Options{Cluster: cluster, Builtin: kinds, Token: access.Token, ReadyAfter: 100 * time.Millisecond,
		Problem: func(err error) { t.Error(err) }})
	go s.Run(t.Context())
	listening := httptest.NewUnstartedServer(http.Handler(s))
	listening.TLS = &tls.Config{Certificates: []tls.Certificate{access.Certificate}}
	listening.EnableHTTP2 = true
	listening.StartTLS()
	t.Cleanup(listening.Close)
	kubeconfig, err := access.Kubeconfig(listening.Listener.Addr().String(), "dev")
	if err != nil {
		t.Fatal(err)
	}
	return running{s, kubeconfig}
}
