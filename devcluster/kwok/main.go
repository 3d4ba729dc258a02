// Package main is kwok, which plays the nodes: it marks Nodes ready and walks
// their Pods through their phases without running a container.
//
// It is a module of its own because kwok and Kubernetes each pin the versions
// of the libraries they share, and one build list would bend one of them. Our
// own main, and not kwok's, because of the second command: kwok refuses to start
// without Stages, and those that it ships are embedded in packages of its module.
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

// stages make Nodes ready at once and keep them so, make Pods ready at once,
// complete those of Jobs, and delete those that are to go.
var stages = []string{
	fast.DefaultNodeInit,
	lease.DefaultNodeHeartbeatWithLease,
	pod.DefaultPodReady,
	pod.DefaultPodComplete,
	pod.DefaultPodDelete,
}

// run is kwok's own main: its configuration flags have to be read, from a set
// of their own, before its command is made.
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
