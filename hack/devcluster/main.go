package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

const usage = `devcluster runs a real Kubernetes control plane on loopback.

  devcluster build                        compile it (the first time, a quarter of an
                                          hour on 2 cores)
  devcluster versions                     the versions of Kubernetes that it can run
  devcluster up [FLAGS]                   run a cluster until Ctrl-C
  devcluster kubectl --data DIR ARGS…     kubectl, with that cluster
  devcluster status --data DIR            what runs in it
  devcluster restart|stop|start|kill|pause|resume --data DIR COMPONENT
                                          break it: etcd, kube-apiserver,
                                          kube-controller-manager, kube-scheduler, kwok

For example:

  devcluster up --data /tmp/demo &
  devcluster kubectl --data /tmp/demo create deployment web --image=nginx --replicas=3
  devcluster restart --data /tmp/demo kube-apiserver

'devcluster up --help' lists its flags.

  DEVCLUSTER_KUBERNETES=MINOR  compile and run another version than the newest one:
                               1.33, for example
  DEVCLUSTER_KUBECONFIG=FILE   'up' uses the cluster of this kubeconfig and starts nothing
  KUBEBUILDER_ASSETS=DIR       use the binaries in this folder and compile nothing
`

// Exit codes: the answer is no, the command line is wrong, the work failed.
const (
	exitNo     = 1
	exitUsage  = 2
	exitFailed = 3
)

// errUsage marks errors in the command line.
var errUsage = errors.New("usage")

func main() {
	os.Exit(run(os.Args[1:]))
}

func run(args []string) int {
	if len(args) == 0 {
		fmt.Fprint(os.Stderr, usage)
		return exitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	// A second Ctrl-C ends this process at once; the janitor still cleans up.
	context.AfterFunc(ctx, stop)
	// Without a receiver for SIGPIPE, a write to a closed stderr would end this
	// process when it should clean up.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)

	var err error
	switch command, args := args[0], args[1:]; command {
	case "build":
		err = runBuild(ctx, args)
	case "versions":
		err = runVersions(args)
	case "up":
		err = runUp(ctx, args)
	case "kubectl":
		err = runKubectl(args)
	case "status", "restart", "stop", "start", "kill", "pause", "resume":
		err = runControl(command, args)
	case janitorCommand:
		err = runJanitor(os.Stdin)
	case "help", "-h", "--help":
		fmt.Print(usage)
	default:
		err = fmt.Errorf("%w: there is no command %q; 'devcluster help' lists them", errUsage, command)
	}
	return exitCode(err)
}

func exitCode(err error) int {
	var refused refusedError
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errHelp):
		return 0
	case errors.As(err, &refused):
		fmt.Fprintln(os.Stderr, "devcluster:", err)
		return exitNo
	case errors.Is(err, errUsage):
		fmt.Fprintln(os.Stderr, "devcluster:", err)
		return exitUsage
	default:
		fmt.Fprintln(os.Stderr, "devcluster:", err)
		return exitFailed
	}
}
