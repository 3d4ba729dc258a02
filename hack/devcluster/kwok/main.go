// Package main is kwok, which simulates the nodes: it marks Nodes ready and moves
// their Pods through their phases without running containers.
//
// It is a separate module because kwok and Kubernetes pin different versions of the
// libraries that they share. It has its own main because of the second command:
// kwok does not start without Stages, and its module embeds the default ones in
// packages.
//
//	kwok stages > stages.yaml
//	kwok run --config stages.yaml --kubeconfig … --manage-all-nodes
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"
	"sigs.k8s.io/kwok/kustomize/stage/node/fast"
	lease "sigs.k8s.io/kwok/kustomize/stage/node/heartbeat-with-lease"
	pod "sigs.k8s.io/kwok/kustomize/stage/pod/fast"
	"sigs.k8s.io/kwok/pkg/config"
	"sigs.k8s.io/kwok/pkg/kwok/cmd"
	"sigs.k8s.io/kwok/pkg/log"
	"sigs.k8s.io/kwok/pkg/utils/signals"
)

func main() {
	if len(os.Args) < 2 {
		usage()
	}
	command := os.Args[1]
	os.Args = append(os.Args[:1], os.Args[2:]...)
	switch command {
	case "stages":
		fmt.Println(strings.Join(stages, "\n---\n"))
	case "run":
		if err := run(); err != nil {
			fmt.Fprintln(os.Stderr, "kwok:", err)
			os.Exit(1)
		}
	default:
		usage()
	}
}

func usage() {
	fmt.Fprintln(os.Stderr, "usage: kwok run [FLAGS] | kwok stages")
	os.Exit(2)
}

// stages make Nodes ready and keep them ready, make Pods ready at once, complete
// the Pods of Jobs, and remove deleted Pods.
var stages = []string{
	fast.DefaultNodeInit,
	lease.DefaultNodeHeartbeatWithLease,
	pod.DefaultPodReady,
	pod.DefaultPodComplete,
	pod.DefaultPodDelete,
}

// run is kwok's own main. It must parse the configuration flags in a separate set
// before it creates the command.
func run() error {
	flags := pflag.NewFlagSet("global", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	flags.Usage = func() {}

	ctx, _ := log.InitFlags(signals.SetupSignalContext(), flags)
	ctx, err := config.InitFlags(ctx, flags)
	if err != nil {
		return err
	}
	command := cmd.NewCommand(ctx)
	command.PersistentFlags().AddFlagSet(flags)
	return command.ExecuteContext(ctx)
}
