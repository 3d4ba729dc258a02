package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/files"
	"reconcel/cli/internal/judge"
	"reconcel/cli/internal/offline"
	"reconcel/cli/internal/settings"
	"reconcel/rules"
	"reconcel/rules/check"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// evalFlags are the flags of eval.
type evalFlags struct {
	offlineRules
	atTime
	rule      string
	resources []string
	observed  []string
	namespace string
	output    *settings.Value[string]
	projected bool // the rules are those of the project, if there are any
}

// An evalCommand evaluates an expression for a resource.
type evalCommand struct {
	out    *printer
	loader *loader
}

func (c evalCommand) command() *cobra.Command {
	f := &evalFlags{output: settings.Choice("yaml", "json", "type")}
	cmd := &cobra.Command{
		Use:   "eval EXPRESSION -r RESOURCE",
		Short: "Evaluate an expression for a resource, without a cluster",
		Long: `Evaluate one CEL expression for a resource, and print its value.

self is the resource. With rules (-f), the expression also reads the lets, lookups and
children of the rule for the kind of the resource, or of --rule if there are several.
The rendered children exist, as in render, if for selects the resource and validate
accepts it. The rules of reconcel.yaml count if one of them is for that kind.

With its CRD, the resource has its defaults, and the fields that the expression reads
must be in the schema. -o type prints the type of the expression instead.

Exit code: 0 the value is printed, 1 the expression, the rules or the resource have
errors, or the value waits for something, 2 wrong usage, 3 a file cannot be read.`,
		Example: `  reconcel eval 'self.spec.replicas * 2' -r examples/foo/foo.yaml
  reconcel eval 'deployment.spec.template' -r examples/foo/foo.yaml -f examples/foo/rules.yaml`,
		PreRunE: func(cmd *cobra.Command, args []string) error {
			f.projected = !cmd.Flags().Changed("rules")
			return inProject(cmd, args)
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exit.Misused("give one expression, in quotes")
			}
			return c.eval(args[0], f)
		},
	}
	flags := cmd.Flags()
	f.offlineRules.flags(flags, asRun)
	f.atTime.flags(flags)
	flags.StringVar(&f.rule, "rule", "", "`name` of the rule")
	flags.StringSliceVarP(&f.resources, "resources", "r", nil, "`file` with the resource, or - for stdin")
	flags.StringSliceVar(&f.observed, "observed", nil,
		"`file` or folder of objects that exist in the cluster; may be repeated")
	flags.StringVarP(&f.namespace, "namespace", "n", "default", "namespace of the resource, if it has none")
	outputFlag(flags, f.output)
	return cmd
}

func (c evalCommand) eval(text string, f *evalFlags) error {
	if len(f.resources) == 0 {
		return exit.Misused("no resource: give a file with -r")
	}
	if err := once(f.paths, f.resources, f.crds, f.observed); err != nil {
		return err
	}
	from, crds := c.loader.reader(f.ruleFiles), f.crds
	if len(crds) == 0 {
		crds = from.Definitions(f.paths)
	}
	kinds, err := offline.ReadKinds(from, crds)
	if err != nil {
		return err
	}
	self, live, err := c.evalObjects(f, kinds)
	if err != nil {
		return err
	}
	loaded, err := c.evalRules(f, kinds, self)
	if err != nil {
		return err
	}
	rule, err := ruleFor(loaded, self, f.rule)
	if err != nil {
		return err
	}
	q := &question{rule: rule, expr: &source.Expr{Text: text, Pos: source.Pos{File: "<expression>", Line: 1, Column: 1}}}
	for _, s := range loaded.Sources {
		q.expr.Beside = append(q.expr.Beside, s.Beside...)
	}
	q.sources = append([]source.File{{Name: q.expr.Pos.File, Data: []byte(text)}}, loaded.Sources...)
	if len(loaded.Sources) == 0 {
		q.unnamed = rule.Name.Value
	}
	inquiry, t, err := q.compile(kinds)
	if err != nil {
		return err
	}
	if f.output.Value == "type" {
		return c.out.print([]byte(t.String() + "\n"))
	}
	at, err := f.parse()
	if err != nil {
		return err
	}
	if at.IsZero() {
		at = offline.TimeOf([]*files.Object{self})
	}
	r, err := offline.New(offline.Options{Program: loaded.Program, Kinds: kinds, Observed: live, Time: at, Say: c.out.say})
	if err != nil {
		return exit.Wrong(err)
	}
	in, err := r.Input(self)
	if errors.Is(err, offline.ErrNotPrepared) {
		return exit.Silent(exit.No) // The reason is already printed.
	}
	answer, wrong := inquiry.Evaluate(in)
	if wrong != nil {
		return q.rejected([]*source.Error{wrong})
	}
	return c.tellAnswer(answer, f.output.Value)
}

// evalObjects reads the resource, and the objects that exist.
func (c evalCommand) evalObjects(f *evalFlags,
	kinds offline.Kinds) (self *files.Object, live []*files.Object, err error) {
	from := c.loader.reader(f.ruleFiles)
	found, err := kinds.Resources(from, f.resources, f.namespace)
	if err != nil {
		return nil, nil, err
	}
	if len(found) != 1 {
		return nil, nil, exit.Wrong(fmt.Errorf("%s: %d objects, expected one", strings.Join(f.resources, ", "), len(found)))
	}
	live, err = kinds.Resources(from, f.observed, f.namespace)
	return found[0], live, err
}

// evalRules loads the rules, or else one that has nothing but the kind of the resource.
func (c evalCommand) evalRules(f *evalFlags, kinds offline.Kinds, self *files.Object) (*rules.Loaded, error) {
	if len(f.paths) == 0 {
		if f.rule != "" {
			return nil, exit.Misused("--rule needs rules: give a file or folder with -f")
		}
		return emptyRule(self)
	}
	loaded, err := c.loader.load(f.ruleFiles)
	if err != nil {
		return nil, err
	}
	if err := rejected(loaded, judge.Of(loaded, kinds.Set, f.policy())); err != nil {
		return nil, err
	}
	if f.projected && f.rule == "" && len(rulesFor(loaded, self)) == 0 {
		return emptyRule(self)
	}
	return loaded, nil
}

// emptyRule returns a rule that has nothing but the kind of a resource.
func emptyRule(self *files.Object) (*rules.Loaded, error) {
	text := fmt.Sprintf("{apiVersion: %s, kind: %s, rules: [{name: eval, for: {apiVersion: %q, kind: %q}}]}",
		syntax.APIVersion, syntax.Kind, self.Unstructured.GetAPIVersion(), self.Unstructured.GetKind())
	loaded := rules.Compile([]source.File{{Data: []byte(text)}})
	loaded.Sources = nil
	if err := loaded.Errors.Err(); err != nil {
		return nil, exit.Wrong(err)
	}
	return loaded, nil
}

// rulesFor returns the rules for the kind of a resource.
func rulesFor(l *rules.Loaded, self *files.Object) (found []*syntax.Rule) {
	for _, r := range l.File.Rules {
		if r.For.APIVersion.Value == self.Unstructured.GetAPIVersion() && r.For.Kind.Value == self.Unstructured.GetKind() {
			found = append(found, r)
		}
	}
	return found
}

// ruleFor returns the rule of that name, or the only one for the kind of a resource.
func ruleFor(l *rules.Loaded, self *files.Object, name string) (*syntax.Rule, error) {
	var found []*syntax.Rule
	var names []string
	for _, r := range rulesFor(l, self) {
		names = append(names, r.Name.Value)
		if name == "" || r.Name.Value == name {
			found = append(found, r)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(names) == 0:
		return nil, exit.Wrong(fmt.Errorf("no rule is for %s %s", self.Unstructured.GetAPIVersion(),
			self.Unstructured.GetKind()))
	case name == "":
		return nil, exit.Misused("%d rules are for %s: choose one with --rule: %s", len(names), self.Unstructured.GetKind(),
			strings.Join(names, ", "))
	}
	return nil, exit.Wrong(fmt.Errorf("no rule %q is for %s%s", name, self.Unstructured.GetKind(),
		source.DidYouMean(name, slices.Clone(names))))
}

// A question is an expression with the rule whose names it reads.
type question struct {
	rule    *syntax.Rule
	expr    *source.Expr
	sources []source.File
	unnamed string // a rule without a file
}

// compile compiles the expression, and finds its type.
func (q *question) compile(kinds offline.Kinds) (*rules.Inquiry, check.Type, error) {
	inquiry, wrong := rules.Inquire(q.rule, q.expr)
	if wrong != nil {
		return nil, check.Type{}, q.rejected(wrong)
	}
	scope, err := check.NewScope(q.rule, kinds.Set)
	if err != nil {
		return nil, check.Type{}, exit.Failure(err)
	}
	if wrong := scope.Check(q.expr); len(wrong) > 0 {
		return nil, check.Type{}, q.rejected(wrong)
	}
	return inquiry, scope.TypeOf(q.expr), nil
}

// rejected returns errors with the lines that they are about.
func (q *question) rejected(wrong []*source.Error) error {
	for _, e := range wrong {
		if e.Rule == q.unnamed {
			e.Rule = ""
		}
		e.Message = strings.TrimPrefix(e.Message, "expression: ") // The name of the file says so.
	}
	return exit.Wrong(source.Collect(q.sources, wrong))
}

// tellAnswer prints the value.
func (c evalCommand) tellAnswer(answer rules.Answer, format string) error {
	switch {
	case len(answer.Waits) > 0:
		return exit.Wrong(fmt.Errorf("the value waits for %s", strings.Join(answer.Waits, ", ")))
	case answer.Gone:
		c.out.say("the value is absent")
	}
	if format == "json" {
		return c.out.printJSON(answer.Value)
	}
	return c.out.printYAML(answer.Value)
}
