package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// errHelp means that help was requested and printed.
var errHelp = errors.New("help")

// upOptions are the flags of `up`.
type upOptions struct {
	data             string
	kubeconfig       string
	controllers      string
	crds             string
	without          []string
	nodes            int
	users            []user
	timeout          time.Duration
	untilStdinCloses bool
}

// defaultUser is the user of the controller under test. With its own user, the
// audit log separates its requests from those of the test.
var defaultUser = user{name: "reconcel", groups: []string{masters}}

const upUsage = `devcluster up runs a cluster until it is interrupted, then removes every trace of it.
It prints one line of JSON on stdout when the cluster is ready.

`

func parseUpOptions(args []string) (upOptions, error) {
	o := upOptions{users: []user{defaultUser}}
	flags := newFlags("up")
	flags.StringVar(&o.data, "data", "", "keep everything in this `folder`, and leave it there at the end (default: a "+
		"temporary folder, removed at the end)")
	flags.StringVar(&o.kubeconfig, "kubeconfig", "",
		"write the admin's kubeconfig to this `file` too (default: only DATA/kubeconfig)")
	flags.StringVar(&o.controllers, "controllers", "",
		"kube-controller-manager's --controllers, a `list` such as *,-garbagecollector")
	flags.StringVar(&o.crds, "crds", "", "`folder` of CustomResourceDefinitions to create before the controllers start "+
		"(default: none)")
	flags.IntVar(&o.nodes, "nodes", 1, "`number` of nodes for kwok to play")
	flags.DurationVar(&o.timeout, "timeout", 2*time.Minute, "how long to wait until everything is ready")
	flags.BoolVar(&o.untilStdinCloses, "until-stdin-closes", false,
		"end with the process that holds the other end of stdin")
	flags.Func("without", "`components` to leave out, separated by commas", func(list string) error {
		for name := range strings.SplitSeq(list, ",") {
			if !slices.Contains(startOrder, name) || name == etcdName || name == apiserverName {
				return fmt.Errorf("can be any of %s, not %q", strings.Join(startOrder[2:], ", "), name)
			}
			o.without = append(o.without, name)
		}
		return nil
	})
	flags.Func("user", "another user, as `name[:group,...]`; its kubeconfig is DATA/users/NAME.kubeconfig. May be "+
		"repeated (always there: reconcel:system:masters)", func(text string) error {
		u, err := parseUser(text)
		if err != nil {
			return err
		}
		o.users = slices.DeleteFunc(o.users, func(other user) bool { return other.name == u.name })
		o.users = append(o.users, u)
		return nil
	})
	if err := parseFlags(flags, args, upUsage); err != nil {
		return upOptions{}, err
	}
	if o.nodes < 0 {
		return upOptions{}, fmt.Errorf("%w: --nodes %d: cannot be negative", errUsage, o.nodes)
	}
	if flags.NArg() > 0 {
		return upOptions{}, fmt.Errorf("%w: up: unexpected argument %q", errUsage, flags.Arg(0))
	}
	return o, nil
}

func newFlags(command string) *flag.FlagSet {
	flags := flag.NewFlagSet(command, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	return flags
}

// parseFlags prints help on request, and converts errors to errUsage.
func parseFlags(flags *flag.FlagSet, args []string, help string) error {
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Print(help)
		flags.SetOutput(os.Stdout)
		flags.PrintDefaults()
		return errHelp
	}
	if err != nil {
		return fmt.Errorf("%w: %s: %w", errUsage, flags.Name(), err)
	}
	return nil
}
