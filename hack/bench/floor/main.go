// Command floor sends the least that any controller of Foos must send: one apply of the
// Deployment and one write of the status for each Foo. It has no cache, no watch and no
// queue, and it decides nothing: the driver of the benchmark tells it what to write, one
// JSON object a line on standard input, which package order documents.
//
// What a controller needs beyond the floor is what its watches and decisions cost.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "kubeconfig `file`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *kubeconfig, os.Stdin); err != nil {
		slog.Error("floor failed", "error", err)
		os.Exit(1)
	}
}

// run executes orders until ctx ends, and fails at the end of orders.
func run(ctx context.Context, kubeconfig string, orders io.Reader) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("%s: %w", kubeconfig, err)
	}
	w, err := newWriter(config)
	if err != nil {
		return err
	}
	err = execute(ctx, orders, w.write)
	if ctx.Err() != nil {
		return nil
	}
	return err
}
