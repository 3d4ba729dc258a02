package cli

import (
	"bytes"
	"fmt"

	"github.com/spf13/cobra"

	"reconcel/rules/check"
	"reconcel/rules/schema"
	"reconcel/rules/syntax"
)

// validateFlags say what validate works on.
type validateFlags struct {
	rules   ruleFiles
	crds    []string
	allowed kindList
	strict  bool
	verbose bool
}

func (a *app) validateCommand() *cobra.Command {
	f := &validateFlags{}
	cmd := &cobra.Command{
		Use:   "validate -f RULES...",
		Short: "Check rules, without a cluster",
		Long: `Check rules and say for each file how many there are, or else everything that
is wrong with them, by file, line and column.

Every expression and every field of a template is held against the schemas of
the kinds: Kubernetes' own are known, those of custom resources come from their
CRDs (--crd). A field that may be absent and is read as if it were not is a
warning, and so is a custom resource without status.conditions, on which reconcel
cannot report. --strict makes warnings count. -v names the kinds of which nothing
is known, and prints the conditions that a CRD lacks. No cluster or kubeconfig is
read.

Exit code: 0 all rules are right, 1 some are wrong, 2 wrong usage.`,
		Example: `  reconcel validate -f examples/foo/rules.yaml --crd crds/ --strict`,
		Args:    flagsOnly,
		RunE:    func(*cobra.Command, []string) error { return a.validate(f) },
	}
	flags := cmd.Flags()
	f.rules.flags(flags)
	flags.StringSliceVar(&f.crds, "crd", nil, "`file` or folder of CustomResourceDefinitions; may be repeated")
	f.allowed.flag(flags)
	flags.BoolVar(&f.strict, "strict", false, "fail on warnings")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "say what could not be checked")
	return cmd
}

func (a *app) validate(f *validateFlags) error {
	if err := once(f.rules.paths, f.crds); err != nil {
		return err
	}
	l, err := a.compile(f.rules)
	if err != nil {
		return err
	}
	l.refusePrivileged(f.allowed)
	if err := a.checkTypes(f, l); err != nil {
		return err
	}
	count := map[string]int{}
	for _, primary := range l.program.Primaries() {
		for _, rule := range primary.Rules {
			count[rule.Pos.File]++
		}
	}
	var b bytes.Buffer
	for _, source := range l.sources {
		fmt.Fprintf(&b, "%s: %s ok\n", source.Name, plural(count[source.Name], "rule"))
	}
	return a.print(b.Bytes())
}

// checkTypes holds rules against the schemas of their kinds, those that do not
// load as far as they can be understood, and says all that is wrong with them.
func (a *app) checkTypes(f *validateFlags, l loading) error {
	kinds, err := a.crds(search{recursive: f.rules.recursive}, f.crds)
	if err != nil {
		return err
	}
	set, err := kinds.schemas()
	if err != nil {
		return no(err)
	}
	found := l.check(set)
	said := append(found.Errors, marked("warning: ", found.Warnings)...)
	if f.verbose {
		said = append(said, marked("note: ", found.Notes)...)
	}
	said = append(said, l.complaints...)
	if err := append(l.unread, syntax.Collect(l.sources, said)...).Report(a.stderr); err != nil {
		return failed(err)
	}
	if f.verbose {
		a.tellConditionsBlock(found.Unreported)
	}
	if len(l.unread)+len(l.complaints)+len(found.Errors) > 0 || f.strict && len(found.Warnings) > 0 {
		return &exitError{code: exitNo}
	}
	return nil
}

// check holds rules against schemas.
func (l loading) check(set *schema.Set) check.Found {
	file, _ := syntax.Parse(l.sources) // The complaints about that are known.
	return check.Check(file, set, l.complaints)
}

// marked puts a word before the messages of complaints.
func marked(word string, list []*syntax.Error) []*syntax.Error {
	for _, e := range list {
		e.Message = word + e.Message
	}
	return list
}

// schemas returns what is known of kinds: Kubernetes' own, and the CRDs that
// were given.
func (k kinds) schemas() (*schema.Set, error) {
	var definitions []map[string]any
	for _, c := range k.crds {
		definitions = append(definitions, c.object)
	}
	return schema.New(schema.Sources{CRDs: definitions})
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
