// Command webhook is the part of a controller of Foos that a Go programmer writes for
// Metacontroller, which watches and writes: it answers what a Foo wants and reports.
//
// It is written as well as that way allows: it decodes the fields that it needs and no others, and
// answers with the fields of the Deployment that it sets. It serves HTTP on loopback, without TLS.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	address := flag.String("listen", "127.0.0.1:8080", "`address` to serve POST /sync on")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *address); err != nil {
		slog.Error("webhook failed", "error", err)
		os.Exit(1)
	}
}

// stopTimeout is longer than any answer takes.
const stopTimeout = 5 * time.Second

// run serves until ctx ends.
func run(ctx context.Context, address string) error {
	server := &http.Server{Addr: address, Handler: handler(), ReadHeaderTimeout: stopTimeout}
	failed := make(chan error, 1)
	go func() { failed <- server.ListenAndServe() }()
	select {
	case err := <-failed:
		return fmt.Errorf("%s: %w", address, err)
	case <-ctx.Done():
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	err := server.Shutdown(stopping)
	if failure := <-failed; !errors.Is(failure, http.ErrServerClosed) {
		return errors.Join(err, failure)
	}
	return err
}
