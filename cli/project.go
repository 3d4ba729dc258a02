package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"reconcel/cli/internal/settings"
	"reconcel/cli/internal/testfiles"
)

// inProject completes the flags of a command from reconcel.yaml and the environment.
func inProject(cmd *cobra.Command, _ []string) error {
	return settings.Project("", cmd.Flags(), settingNames())
}

// settingNames returns the names of all settings of run.
func settingNames() (names []string) {
	flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
	(&runFlags{}).flags(flags)
	flags.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return names
}

// testedProject returns the rules and CRDs in reconcel.yaml, which are no flags of test.
func testedProject() (p testfiles.Project, err error) {
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	flags.StringSliceVar(&p.Rules, "rules", nil, "")
	flags.StringSliceVar(&p.CRDs, "crd", nil, "")
	err = settings.Project("", flags, settingNames())
	return p, err
}
