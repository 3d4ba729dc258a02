// Command kubectl is kubectl, for machines without one: `make demo` builds it.
package main

import (
	"os"

	_ "k8s.io/client-go/plugin/pkg/client/auth" // Kubeconfigs name them as auth-provider.
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
)

func main() {
	_, _ = logs.GlogSetter(cmd.GetLogVerbosity(os.Args)) // Plugins are found before the flags are read.
	util.CheckErr(cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()))
}
