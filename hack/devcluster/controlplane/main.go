// Package main links a Kubernetes control plane into one binary: etcd,
// kube-apiserver, kube-controller-manager, kube-scheduler and kubectl.
//
// It is one binary because the components share nearly all code: it compiles and
// links once, and takes a third of the space. The first argument selects the
// component. All other arguments are the component's own:
//
//	controlplane kube-apiserver --etcd-servers=…
//	controlplane kubectl get pods
//
// The same code compiles with each minor of Kubernetes that ../kubernetes pins.
package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register" // --logging-format=json
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

// components maps the first argument to the function that runs the component.
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
	// The components read os.Args, and use its first element as their name.
	os.Args = os.Args[1:]
	os.Exit(run())
}

// component creates a command only when it is selected. Creating all commands would
// register flags and metrics of programs that do not run.
func component(command func() *cobra.Command) func() int {
	return func() int { return cli.Run(command()) }
}

// runEtcd runs etcd's own main with all its flags, so that another etcd binary can
// replace it. It ends the process itself.
func runEtcd() int {
	etcdmain.Main(os.Args)
	return 0
}

// runKubectl does what kubectl's own main does in all minors. Newer ones also set the
// verbosity before they read the configuration of plugins. There are no plugins here.
func runKubectl() int {
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err) // Prints the error as kubectl does, and exits.
	}
	return 0
}
