package cli

import (
	"bytes"
	"fmt"

	"github.com/spf13/cobra"
)

func (a *app) validateCommand() *cobra.Command {
	var from ruleFiles
	cmd := &cobra.Command{
		Use:   "validate -f RULES...",
		Short: "Check rules, without a cluster",
		Long: `Check rules and say for each file how many there are, or else everything that
is wrong with them, by file, line and column.

What passes here is what run starts with. No cluster or kubeconfig is read.

Exit code: 0 all rules are right, 1 some are wrong, 2 wrong usage.`,
		Example: `  reconcel validate -f examples/foo/rules.yaml`,
		Args:    flagsOnly,
		RunE:    func(*cobra.Command, []string) error { return a.validate(from) },
	}
	from.flags(cmd.Flags())
	return cmd
}

func (a *app) validate(from ruleFiles) error {
	if err := once(from.paths); err != nil {
		return err
	}
	program, sources, err := a.load(from)
	if err != nil {
		return err
	}
	count := map[string]int{}
	for _, primary := range program.Primaries() {
		for _, rule := range primary.Rules {
			count[rule.Pos.File]++
		}
	}
	var b bytes.Buffer
	for _, source := range sources {
		fmt.Fprintf(&b, "%s: %s ok\n", source.Name, plural(count[source.Name], "rule"))
	}
	return a.print(b.Bytes())
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
