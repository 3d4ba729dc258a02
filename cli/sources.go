package cli

import (
	"github.com/spf13/pflag"

	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/files"
	"reconcel/rules"
)

// ruleFiles are the rules files that a command works on.
type ruleFiles struct {
	paths     []string
	recursive bool
}

func (r *ruleFiles) flags(flags *pflag.FlagSet) {
	flags.StringSliceVarP(&r.paths, "rules", "f", nil, "`file` or folder of rules, or - for stdin; may be repeated")
	recursiveFlag(flags, &r.recursive)
}

// recursiveFlag is the flag that all searches of a command share.
func recursiveFlag(flags *pflag.FlagSet, to *bool) {
	flags.BoolVarP(to, "recursive", "R", false, "include subfolders")
}

// reader reads what the command is given.
func (a *app) reader() files.Reader { return files.Reader{Stdin: a.stdin} }

// load compiles the rules.
func (a *app) load(r ruleFiles) (*rules.Loaded, error) {
	if len(r.paths) == 0 {
		return nil, exit.Misused("no rules: give a file or folder with -f")
	}
	sources, unread := a.reader().Rules(r.paths, r.recursive)
	return rules.Compile(sources, unread...), nil
}
