package cli

import (
	"errors"

	"github.com/spf13/pflag"

	"reconcel/rules"
	"reconcel/rules/syntax"
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

// load compiles the rules. The error holds every complaint about every file,
// those that cannot be read included.
func (a *app) load(r ruleFiles) (*rules.Program, []syntax.Source, error) {
	if len(r.paths) == 0 {
		return nil, nil, misused("no rules: give a file or folder with -f")
	}
	sources, complaints := a.sources(r)
	program, err := compile(sources, complaints)
	return program, sources, err
}

// compile compiles rules that have been read. The error holds every complaint,
// those of the reading included.
func compile(sources []syntax.Source, complaints syntax.Errors) (*rules.Program, error) {
	if len(sources) == 0 {
		return nil, no(complaints)
	}
	program, err := rules.Load(sources)
	var wrong syntax.Errors
	if err != nil && !errors.As(err, &wrong) {
		return nil, failed(err)
	}
	if complaints = append(complaints, wrong...); len(complaints) > 0 {
		return nil, no(complaints)
	}
	return program, nil
}

// sources reads the files, each once however often it is named.
func (a *app) sources(r ruleFiles) (sources []syntax.Source, complaints syntax.Errors) {
	where := search{extensions: []string{".yaml", ".yml"}, recursive: r.recursive}
	complain := func(name string, err error) {
		complaints = append(complaints, syntax.NewError(syntax.Pos{File: name}, "", "cannot be read: "+err.Error(), ""))
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
			sources = append(sources, syntax.Source{Name: name, Data: data})
		}
	}
	return sources, complaints
}
