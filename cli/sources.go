package cli

import (
	"github.com/spf13/pflag"

	"reconcel/cli/internal/exit"
	"reconcel/rules"
	"reconcel/rules/source"
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

// load compiles the rules.
func (a *app) load(r ruleFiles) (*rules.Loaded, error) {
	if len(r.paths) == 0 {
		return nil, exit.Misused("no rules: give a file or folder with -f")
	}
	sources, unread := a.sources(r)
	return rules.Compile(sources, unread...), nil
}

// sources reads the files, each once however often it is named.
func (a *app) sources(r ruleFiles) (sources []source.File, complaints source.Errors) {
	isRules := func(file string) bool { return !isTest(file) } // People keep tests beside what they test.
	where := search{extensions: []string{".yaml", ".yml"}, recursive: r.recursive, only: isRules}
	complain := func(name string, err error) {
		complaints = append(complaints, source.NewError(source.Pos{File: name}, "", "cannot be read: "+err.Error(), ""))
	}
	seen := map[string]bool{}
	for _, path := range r.paths {
		files, err := where.find(path)
		if err != nil {
			complain(path, err)
		}
		for _, file := range files {
			if seen[file] {
				continue
			}
			seen[file] = true
			name, data, err := a.read(file)
			if err != nil {
				complain(name, err)
				continue
			}
			sources = append(sources, source.File{Name: name, Data: data})
		}
	}
	return sources, complaints
}
