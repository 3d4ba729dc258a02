// Command baseline is the controller of Foos as a Go programmer writes it by hand: on
// client-go's typed clients, informers and work queue, after k8s.io/sample-controller and
// with its generated clientset.
//
// It is what reconcel is compared with, so it is written as well as that way allows:
//
//   - no client-side limit, and 16 workers, which is the default of reconcel
//   - it compares before it writes, so an object that is as wanted costs no request
//   - it repairs every field of the Deployment that it sets
//   - it sends no Events, needs no Lease, and serves no metrics
//
// All else is what client-go does by default. With --apply it writes Deployments by server-side
// apply, which costs the API server more, and lets other writers own the other fields.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/sample-controller/pkg/generated/clientset/versioned"
	"k8s.io/sample-controller/pkg/generated/informers/externalversions"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "kubeconfig `file`")
	applies := flag.Bool("apply", false, "write Deployments by server-side apply")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	by := put
	if *applies {
		by = apply
	}
	if err := run(ctx, *kubeconfig, by); err != nil {
		slog.Error("baseline failed", "error", err)
		os.Exit(1)
	}
}

// run reconciles until ctx ends.
func run(ctx context.Context, kubeconfig string, by deploy) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("%s: %w", kubeconfig, err)
	}
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	foos, err := versioned.NewForConfig(config)
	if err != nil {
		return err
	}
	deploymentFactory := informers.NewSharedInformerFactory(client, 0)
	fooFactory := externalversions.NewSharedInformerFactory(foos, 0)
	c, err := newController(by, client, foos, deploymentFactory.Apps().V1().Deployments(),
		fooFactory.Samplecontroller().V1alpha1().Foos())
	if err != nil {
		return err
	}
	deploymentFactory.StartWithContext(ctx)
	fooFactory.Start(ctx.Done())
	c.run(ctx)
	deploymentFactory.Shutdown()
	fooFactory.Shutdown()
	return nil
}
