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
func (a *app) load(r ruleFiles) (*rules.Program, error) {
	l, err := a.compile(r)
	if err == nil {
		err = l.wrong()
	}
	return l.program, err
}

// A loading is how far the loading of rules got.
type loading struct {
	program    *rules.Program // nil if there are complaints
	sources    []syntax.Source
	unread     syntax.Errors // about files that cannot be read
	complaints syntax.Errors // about what is in the others
	namespaces namespaceList // to which confine has confined them
}

// wrong returns all complaints as one error.
func (l loading) wrong() error {
	if all := append(l.unread, l.complaints...); len(all) > 0 {
		return no(all)
	}
	return nil
}

// compile compiles the rules, for those who can do something with complaints.
func (a *app) compile(r ruleFiles) (loading, error) {
	if len(r.paths) == 0 {
		return loading{}, misused("no rules: give a file or folder with -f")
	}
	return compiled(a.sources(r))
}

// compiled compiles rules that have been read, as far as they could be.
func compiled(sources []syntax.Source, unread syntax.Errors) (l loading, err error) {
	l.sources, l.unread = sources, unread
	if len(sources) == 0 {
		return l, no(unread)
	}
	l.program, err = rules.Load(sources)
	if err != nil && !errors.As(err, &l.complaints) {
		return l, failed(err)
	}
	return l, nil
}

// sources reads the files, each once however often it is named.
func (a *app) sources(r ruleFiles) (sources []syntax.Source, complaints syntax.Errors) {
	isRules := func(file string) bool { return !isTest(file) } // People keep tests beside what they test.
	where := search{extensions: []string{".yaml", ".yml"}, recursive: r.recursive, only: isRules}
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
