package cli

import (
	"io"

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

// A loader reads rules and what else is in files.
type loader struct {
	stdin io.Reader
	seen  func(path string) // called for what it reads; may be nil
}

func (l *loader) reader(of ruleFiles) files.Reader {
	return files.Reader{Stdin: l.stdin, Recursive: of.recursive, Written: of.written, Seen: l.seen}
}

func (l *loader) load(r ruleFiles) (*rules.Loaded, error) {
	if err := r.given(); err != nil {
		return nil, err
	}
	loaded, _ := offline.Load(l.reader(r), r.paths)
	return loaded, nil
}

// given returns an error unless rules are given.
func (r *ruleFiles) given() error {
	if len(r.paths) == 0 {
		return exit.Misused("no rules: give a file or folder with -f")
	}
	return nil
}
