package cli

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/cli/internal/cluster"
	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/output"
	"reconcel/cli/internal/rendered"
	"reconcel/cli/internal/request"
	"reconcel/engine/discover"
	"reconcel/rules"
)

// reconcileFlags are the flags of reconcile.
type reconcileFlags struct {
	rules     ruleFiles
	cluster   clusterFlags
	namespace string
	wait      bool
	timeout   time.Duration
}

const reconcileText = `Ask reconcel to reconcile a resource at once. reconcile sets the annotation
reconcel.dev/reconcile-at of the resource to the present time. The controller then forgets
backoffs and conflict loops of the resource, and applies all its children once more, also
those that have not changed.

A paused resource stays paused: the request counts when the pause ends. A Job that has
finished does not run again: that is what the annotation reconcel.dev/run-again asks for.

--wait waits until an Event says that the resource has been reconciled, and prints its
state. A controller that runs with --events=warnings sends no such Event.

The permissions get and patch for the resource are enough; --wait also needs list for
Events. Exit code: 0 the annotation is set, 1 with --wait: the resource is stalled, or was
not reconciled in time, 2 wrong usage, 3 the resource does not exist, or the cluster does
not answer.`

// A reconcileCommand asks a controller to reconcile a resource.
type reconcileCommand struct {
	out       *printer
	loader    *loader
	completer *completer
}

func (c reconcileCommand) command() *cobra.Command {
	f := &reconcileFlags{}
	cmd := &cobra.Command{
		Use:   "reconcile KIND/NAME",
		Short: "Ask the controller to reconcile a resource at once",
		Long:  reconcileText,
		Example: `  reconcel reconcile foo/example-foo
  reconcel reconcile foo/example-foo -n team-a --wait`,
		ValidArgsFunction: c.completer.completeKinds,
		PreRunE:           inProject,
		RunE:              func(_ *cobra.Command, args []string) error { return c.reconcile(f, args) },
	}
	flags := cmd.Flags()
	f.rules.flags(flags)
	f.cluster.flags(flags)
	flags.StringVarP(&f.namespace, "namespace", "n", "",
		"namespace of the resource (default: that of the kubeconfig context)")
	flags.BoolVar(&f.wait, "wait", false, "wait until the resource has been reconciled, and print its state")
	flags.DurationVar(&f.timeout, "timeout", time.Minute, "how long --wait waits")
	return cmd
}

func (c reconcileCommand) reconcile(f *reconcileFlags, args []string) error {
	if len(args) != 1 {
		return exit.Misused("give one resource as KIND/NAME, such as foo/example")
	}
	target, err := namedTarget(args[0], "a resource")
	if err != nil {
		return err
	}
	program, err := c.loader.statusProgram(f.rules)
	if err != nil {
		return err
	}
	live, namespace, err := f.cluster.open(c.out, nil)
	if err != nil {
		return err
	}
	ctx, stop := untilSignal()
	defer stop()
	var k *discover.Kind
	var self *unstructured.Unstructured
	hasRules := true
	value := time.Now().UTC().Format(time.RFC3339Nano)
	err = c.out.showProgress(ctx, func(*output.Progress) error {
		if k, err = live.Kind(ctx, program, target); err == nil {
			self, err = request.Set(ctx, live, k, cmp.Or(f.namespace, namespace), target, value)
		}
		if err == nil {
			hasRules = request.HasRules(ctx, live, self)
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := c.out.print(fmt.Appendf(nil, "%s: requested, %s is %s\n", target.Text, rules.AnnotationReconcileAt,
		value)); err != nil {
		return err
	}
	if !hasRules {
		c.out.say("no installation in the cluster has rules for %s: "+
			"reconcile a resource that rules are for, not its children", k.GVK.Kind)
	}
	switch {
	case rules.Paused(self.Object):
		c.out.say("%s is paused by its annotation %s: the request counts when the pause ends", target.Text,
			rules.AnnotationPaused)
		return nil
	case !f.wait:
		return nil
	}
	return c.await(ctx, f, live, k, self, target)
}

// await waits until a resource has been reconciled, and prints its state.
func (c reconcileCommand) await(ctx context.Context, f *reconcileFlags, live *cluster.Cluster, k *discover.Kind,
	self *unstructured.Unstructured, target cluster.Target) error {
	var state rendered.Resource
	err := c.out.showProgress(ctx, func(*output.Progress) (err error) {
		state, err = request.Await(ctx, live, k, self, f.timeout)
		return err
	})
	if request.IsUnanswered(err) {
		return exit.Wrong(fmt.Errorf("%s has not been reconciled within %s: does a controller run whose rules select it? "+
			"reconcel status lists what it reconciles", target.Text, f.timeout))
	}
	if err != nil {
		return err
	}
	if err := c.out.print(fmt.Appendf(nil, "%s: %s, %s: %s\n", target.Text, state.State, state.Reason,
		output.Printable(state.Message))); err != nil {
		return err
	}
	if state.State == rendered.Stalled {
		return exit.Silent(exit.No)
	}
	return nil
}
