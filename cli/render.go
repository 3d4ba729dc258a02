package cli

import (
	"github.com/spf13/cobra"

	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/offline"
	"reconcel/cli/internal/settings"
)

// renderFlags are the flags of render.
type renderFlags struct {
	offlineRules
	resources []string
	observed  []string
	namespace string
	output    *settings.Value[string]
}

func (a *app) renderCommand() *cobra.Command {
	f := &renderFlags{output: settings.Choice("yaml", "json")}
	cmd := &cobra.Command{
		Use:   "render -f RULES... -r RESOURCES...",
		Short: "Show what rules render for resources, without a cluster",
		Long: `Print the objects that the rules render for each resource, in the order in which
they are applied, and then the status of the resource. What waits, what is excluded
and what fails is printed on stderr.

With its CRD, a resource is rendered as the API server would store it: without
unknown fields and with defaults. Values are not validated against the CRD.
Expressions that read children find them in --observed. You can use the output of
render as --observed.

-o json prints one List. Exit code: 0 everything is rendered, 1 the rules or a
resource have errors, 2 wrong usage, 3 a file cannot be read.`,
		Example: `  reconcel render -f examples/foo/rules.yaml -r examples/foo/foo.yaml
  kubectl get foos,deployments -o yaml > live.yaml
  reconcel render -f examples/foo/rules.yaml -r foo.yaml --crd crds/ --observed live.yaml`,
		Args: flagsOnly,
		RunE: func(*cobra.Command, []string) error { return a.render(f) },
	}
	flags := cmd.Flags()
	f.flags(flags, asRun)
	flags.StringSliceVarP(&f.resources, "resources", "r", nil, "`file` or folder of resources to render, or - for stdin; may be repeated")
	flags.StringSliceVar(&f.observed, "observed", nil, "`file` or folder of objects that exist in the cluster; may be repeated")
	flags.StringVarP(&f.namespace, "namespace", "n", "default", "namespace of resources without one")
	outputFlag(flags, f.output)
	return cmd
}

func (a *app) render(f *renderFlags) error {
	if len(f.resources) == 0 {
		return exit.Misused("no resources: give a file or folder with -r")
	}
	if err := once(f.paths, f.resources, f.crds, f.observed); err != nil {
		return err
	}
	j, err := a.judge(&f.offlineRules)
	if err != nil {
		return err
	}
	if err := rejected(j.verdict); err != nil {
		return err
	}
	from := a.reader(f.ruleFiles)
	live, err := j.kinds.Resources(from, f.observed, f.namespace)
	if err != nil {
		return err
	}
	r, err := offline.New(j.Program, j.kinds, live, a.say)
	if err != nil {
		return exit.Wrong(err)
	}
	resources, err := j.kinds.Resources(from, f.resources, f.namespace)
	if err != nil {
		return err
	}
	for _, o := range resources {
		r.Render(o)
	}
	r.TellUnread()
	result, err := r.Format(f.output.Value)
	if err != nil {
		return exit.Failure(err)
	}
	if err := a.print(result); err != nil {
		return err
	}
	if r.Failures > 0 {
		return exit.Silent(exit.No) // Each error is already printed.
	}
	return nil
}
