package dev

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"reconcel/rules/schema"
	"reconcel/sim"
	"reconcel/sim/server"
)

// Options configure a Server.
type Options struct {
	Port       int           // 0: any free one
	ReadyAfter time.Duration // until workloads are ready; negative: never
	Problem    func(error)   // is told what the cluster cannot do
}

// history is how many changes a watch may be behind.
const history = 5000

// A Server is a cluster in memory with its API on a port of loopback.
type Server struct {
	Cluster *sim.Cluster
	Clock   *Clock
	Config  *rest.Config // of a client

	access    server.Access
	path      string // of the kubeconfig that it has written, or ""
	temporary string // the folder of the kubeconfig, or ""
	listener  net.Listener
	http      *http.Server
	api       *server.Server
	running   sync.WaitGroup
	cancel    context.CancelFunc
	advancing sync.Mutex
}

// Start starts a server. It accepts clients until Stop.
func Start(options Options) (s *Server, err error) {
	s = &Server{Clock: NewClock(), cancel: func() {}}
	defer func() {
		if err != nil {
			s.Stop()
		}
	}()
	kinds, err := sim.NewKinds(schema.Builtin())
	if err != nil {
		return s, err
	}
	if s.Cluster, err = sim.New(sim.Options{Kinds: kinds, Clock: s.Clock, History: history}); err != nil {
		return s, err
	}
	if s.access, err = server.NewAccess(); err != nil {
		return s, err
	}
	if s.listener, err = net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(options.Port))); err != nil {
		return s, err
	}
	kubeconfig, err := s.kubeconfig()
	if err != nil {
		return s, err
	}
	if s.Config, err = clientcmd.RESTConfigFromKubeConfig(kubeconfig); err != nil {
		return s, err
	}
	s.api = server.New(server.Options{Cluster: s.Cluster, Token: s.access.Token, Clock: s.Clock, Builtin: kinds,
		ReadyAfter: options.ReadyAfter, Problem: options.Problem})
	s.api.Handle("POST "+advancePath, http.HandlerFunc(s.serveAdvance))
	s.serve()
	return s, nil
}

func (s *Server) kubeconfig() ([]byte, error) {
	return s.access.Kubeconfig(s.listener.Addr().String(), "reconcel-dev")
}

// WriteKubeconfig creates a file, or one in a new temporary folder, that only this user can read. It returns its path.
// The file exists until Stop.
func (s *Server) WriteKubeconfig(path string) (_ string, err error) {
	kubeconfig, err := s.kubeconfig()
	if err != nil {
		return "", err
	}
	if path == "" {
		if s.temporary, err = os.MkdirTemp("", "reconcel-dev-"); err != nil {
			return "", err
		}
		path = filepath.Join(s.temporary, "kubeconfig")
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", err
	}
	// An existing file may be that of another cluster.
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	s.path = path
	_, err = f.Write(kubeconfig)
	return path, errors.Join(err, f.Close())
}

// serve answers requests, and plays the controllers, until Stop.
func (s *Server) serve() {
	var ctx context.Context
	ctx, s.cancel = context.WithCancel(context.Background())
	s.http = &http.Server{
		Handler:           s.api,
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{s.access.Certificate}, MinVersion: tls.VersionTLS12},
		ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		ErrorLog: log.New(io.Discard, "", 0), // Clients that distrust the certificate see that themselves.
	}
	s.running.Go(func() { s.api.Run(ctx) })
	s.running.Go(func() { _ = s.http.ServeTLS(s.listener, "", "") }) // It ends by Stop.
}

// Stop ends the server and removes the kubeconfig.
func (s *Server) Stop() {
	s.cancel()
	switch {
	case s.http != nil:
		_ = s.http.Close() // Watches would not end by themselves.
	case s.listener != nil:
		_ = s.listener.Close()
	}
	s.running.Wait()
	if s.path != "" {
		_ = os.Remove(s.path)
	}
	if s.temporary != "" {
		_ = os.Remove(s.temporary) // A file that a user has put there stays.
	}
}
