package cli

import (
	"github.com/spf13/pflag"

	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/files"
	"reconcel/rules"
	"reconcel/rules/source"
)

// ruleFiles are the flags that select rules files.
type ruleFiles struct {
	paths     []string
	recursive bool
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
	return files.Reader{Stdin: a.stdin, Recursive: of.recursive, Seen: a.seen}
}

func (a *app) load(r ruleFiles) (*rules.Loaded, error) {
	loaded, _, err := a.loadAll(r)
	return loaded, err
}

// loadAll loads rules, and returns notes about what it passed over.
func (a *app) loadAll(r ruleFiles) (loaded *rules.Loaded, notes source.Errors, err error) {
	if len(r.paths) == 0 {
		return nil, nil, exit.Misused("no rules: give a file or folder with -f")
	}
	sources, passed, unread := a.reader(r).Select(r.paths)
	for _, name := range passed {
		notes = append(notes, source.NewError(source.Pos{File: name}, "", "has no rules, passed over", ""))
	}
	loaded = rules.Compile(sources, unread...)
	return loaded, append(notes, loaded.File.PassedOver...).WithSeverity(source.SeverityNote), nil
}
