// Package main links a Kubernetes control plane into one binary: etcd,
// kube-apiserver, kube-controller-manager, kube-scheduler and kubectl.
//
// One binary, because nearly all of the code is shared: it compiles once, links
// once and takes a third of the space. The first argument chooses, so that the
// rest of the command line is the component's own, documented elsewhere:
//
//	controlplane kube-apiserver --etcd-servers=…
//	controlplane kubectl get pods
package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	_ "k8s.io/component-base/logs/json/register" // --logging-format=json
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

// components maps the first argument to what runs with the others.
var components = map[string]func() int{
	"etcd":                    runEtcd,
	"kube-apiserver":          component(apiserver.NewAPIServerCommand),
	"kube-controller-manager": component(controllermanager.NewControllerManagerCommand),
	"kube-scheduler":          component(func() *cobra.Command { return scheduler.NewSchedulerCommand() }),
	"kubectl":                 runKubectl,
}

func main() {
	if len(os.Args) < 2 || components[os.Args[1]] == nil {
		names := make([]string, 0, len(components))
		for name := range components {
			names = append(names, name)
		}
		slices.Sort(names)
		fmt.Fprintf(os.Stderr, "usage: controlplane COMPONENT [ARGUMENTS]\ncomponents: %s\n", strings.Join(names, ", "))
		os.Exit(2)
	}
	run := components[os.Args[1]]
	// The components read os.Args, and name themselves after its first element.
	os.Args = os.Args[1:]
	os.Exit(run())
}

// component makes the command only when it is chosen: building all of them
// would register flags and metrics of programs that are not going to run.
func component(command func() *cobra.Command) func() int {
	return func() int { return cli.Run(command()) }
}

// runEtcd is etcd's own main, with all its flags, so that an etcd binary from
// elsewhere can take its place. It ends the process itself.
func runEtcd() int {
	etcdmain.Main(os.Args)
	return 0
}

func runKubectl() int {
	// The same three steps as kubectl's own main.
	if _, err := logs.GlogSetter(kubectl.GetLogVerbosity(os.Args)); err != nil {
		fmt.Fprintln(os.Stderr, "kubectl:", err)
		return 1
	}
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err) // Prints the error as kubectl does, and exits.
	}
	return 0
}
