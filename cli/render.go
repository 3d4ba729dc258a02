package cli

import (
	"slices"

	"github.com/spf13/cobra"

	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/offline"
	"reconcel/cli/internal/settings"
	"reconcel/rules"
)

// renderFlags are the flags of render.
type renderFlags struct {
	offlineRules
	repeating
	atTime
	resources []string
	observed  []string
	only      bool // observed objects exist
	namespace string
	output    *settings.Value[string]
}

// A renderCommand shows what rules render.
type renderCommand struct {
	out      *printer
	loader   *loader
	repeater *repeater
}

func (c renderCommand) command() *cobra.Command {
	f := &renderFlags{output: settings.Choice("yaml", "json")}
	cmd := &cobra.Command{
		Use:   "render -f RULES... [-r RESOURCES...]",
		Short: "Show what rules render for resources, without a cluster",
		Long: `Print the objects that the rules render for each resource, in the order in which
they are applied, and then the status of the resource. What waits, what is excluded
and what fails is printed on stderr. Rules with for: cluster need no resource, and
come first.

With its CRD, a resource is rendered as the API server would store it: without
unknown fields and with defaults. Values are not validated against the CRD.

Expressions read children as the API server would store them, without a status. What
reads a status waits, unless the object is in --observed. An object there counts as
it is; fields that it lacks are as rendered. With --observed-only, other children do
not exist. You can use the output of render as --observed of render and eval.

The uid of objects that do not have any is a placeholder: 00000000-0000-0000-0000-,
followed by 12 digits. Objects without a creationTimestamp are created at the time of
--time: without it, now, or at 1970-01-01T00:00:00Z if no resource has one. A note on
stderr names the fields of the output that contain such a value, and another one says
when a gate of time opens.

-w renders again whenever a file changes, until Ctrl-C.

-o json prints one List. Exit code: 0 everything is rendered, 1 the rules or a
resource have errors, 2 wrong usage, 3 a file cannot be read.`,
		Example: `  reconcel render -f examples/foo/rules.yaml -r examples/foo/foo.yaml
  kubectl get foos,deployments -o yaml > live.yaml
  reconcel render -f examples/foo/rules.yaml -r foo.yaml --crd crds/ --observed live.yaml`,
		Args:    flagsOnly,
		PreRunE: inProject,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.repeater.repeat(f.repeating, cmd, func() error { return c.render(f) }, f.paths, f.crds, f.resources,
				f.observed)
		},
	}
	flags := cmd.Flags()
	f.offlineRules.flags(flags, asRun)
	f.repeating.flags(flags)
	f.atTime.flags(flags)
	flags.StringSliceVarP(&f.resources, "resources", "r", nil,
		"`file` or folder of resources to render, or - for stdin; may be repeated")
	flags.StringSliceVar(&f.observed, "observed", nil,
		"`file` or folder of objects that exist in the cluster; may be repeated")
	flags.BoolVar(&f.only, "observed-only", false, "only the objects of --observed exist: what reads other children waits")
	flags.StringVarP(&f.namespace, "namespace", "n", "default", "namespace of resources without one")
	outputFlag(flags, f.output)
	return cmd
}

// existence says which objects expressions can read.
func existence(only bool) offline.Existence {
	if only {
		return offline.ObservedOnly
	}
	return offline.AsRendered
}

func (c renderCommand) render(f *renderFlags) error {
	if err := once(f.paths, f.resources, f.crds, f.observed); err != nil {
		return err
	}
	j, err := c.loader.accepted(&f.offlineRules)
	if err != nil {
		return err
	}
	if len(f.resources) == 0 && !slices.ContainsFunc(j.Program.Primaries(), (*rules.Primary).ForCluster) {
		return exit.Misused("no resources: give a file or folder with -r")
	}
	at, err := f.parse()
	if err != nil {
		return err
	}
	r, resources, err := j.Prepare(c.loader.reader(f.ruleFiles), offline.Request{
		Resources: f.resources, Observed: f.observed, Namespace: f.namespace, Exists: existence(f.only), Time: at,
		Say: c.out.say,
	})
	if err != nil {
		return err
	}
	r.Render(resources)
	r.TellUnread()
	result, err := r.Format(f.output.Value)
	if err != nil {
		return exit.Failure(err)
	}
	if err := c.out.print(result); err != nil {
		return err
	}
	if len(r.Failures) > 0 {
		return exit.Silent(exit.No) // Each error is already printed.
	}
	return nil
}
