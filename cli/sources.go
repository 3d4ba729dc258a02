package cli

import (
	"github.com/spf13/pflag"

	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/files"
	"reconcel/cli/internal/offline"
	"reconcel/rules"
)

// ruleFiles are the flags that select rules files.
type ruleFiles struct {
	paths     []string
	recursive bool
	written   string // the file that the command writes, or ""
}

func (r *ruleFiles) flags(flags *pflag.FlagSet) {
	flags.StringSliceVarP(&r.paths, "rules", "f", nil, "`file` or folder of rules, or - for stdin; may be repeated")
	recursiveFlag(flags, &r.recursive)
}

// recursiveFlag adds -R, which applies to all folders of a command.
func recursiveFlag(flags *pflag.FlagSet, to *bool) {
	flags.BoolVarP(to, "recursive", "R", false, "include subfolders")
}

func (a *app) reader(of ruleFiles) files.Reader {
	return files.Reader{Stdin: a.stdin, Recursive: of.recursive, Written: of.written, Seen: a.seen}
}

func (a *app) load(r ruleFiles) (*rules.Loaded, error) {
	if err := r.given(); err != nil {
		return nil, err
	}
	loaded, _ := offline.Load(a.reader(r), r.paths)
	return loaded, nil
}

// given returns an error unless rules are given.
func (r *ruleFiles) given() error {
	if len(r.paths) == 0 {
		return exit.Misused("no rules: give a file or folder with -f")
	}
	return nil
}
