// Package judge decides whether rules may run. All commands use it, so that
// validate never accepts rules that run rejects.
package judge

import (
	"fmt"
	"slices"
	"strings"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules"
	"reconcel/rules/check"
	"reconcel/rules/lint"
	"reconcel/rules/schema"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// A Policy is what an administrator allows the rules of an installation to do.
type Policy struct {
	AllowedKinds []string // privileged kinds that rules may create, such as Node
	Namespaces   []string // where reconcel works; none: all
	IgnoreChecks []string // named checks that are turned off
}

// A Result is what is wrong with rules.
type Result struct {
	Errors   source.Errors // the rules must not run
	Warnings source.Errors // the rules may fail for some objects
	Notes    source.Errors // what could not be checked

	// Unreported are the kinds of primaries without status.conditions.
	Unreported []runtimeschema.GroupVersionKind
}

// Err returns all errors as one, or nil.
func (v Result) Err() error { return v.Errors.Err() }

// Of judges rules. Without kinds it skips the checks of types; the cluster may
// check them later.
func Of(l *rules.Loaded, kinds *schema.Set, policy Policy) Result {
	return of(l, l.File, kinds, policy)
}

// OfChanged judges the rules that Recompile has compiled again. The other rules must have been
// accepted with the same kinds.
func OfChanged(l *rules.Loaded, kinds *schema.Set, policy Policy) Result {
	return of(l, l.Changed(), kinds, policy)
}

func of(l *rules.Loaded, file *syntax.File, kinds *schema.Set, policy Policy) Result {
	var found check.Found
	silence := lint.NewSilence(l.Sources, policy.IgnoreChecks)
	if kinds == nil {
		kinds = schema.Builtin()
	} else {
		found = findings(l, file, kinds)
		found.Warnings = append(found.Warnings, silence.Unknown...)
	}
	errs, warnings := slices.Concat(l.Errors, found.Errors), slices.Clone(found.Warnings)
	if l.Program != nil {
		p := judged{program: l.Program, kinds: kinds, policy: policy}
		p.privileges()
		p.confinement()
		p.volatility()
		errs, warnings = append(errs, p.errors...), append(warnings, p.warnings...)
	}
	return Result{
		Errors: source.Collect(l.Sources, slices.DeleteFunc(errs, silence.Covers)),
		Warnings: source.Collect(l.Sources, slices.DeleteFunc(warnings,
			silence.Covers)).WithSeverity(source.SeverityWarning),
		Notes:      source.Collect(l.Sources, found.Notes).WithSeverity(source.SeverityNote),
		Unreported: found.Unreported,
	}
}

// findings returns what the checks of types and the named checks find in a file.
func findings(l *rules.Loaded, file *syntax.File, kinds *schema.Set) check.Found {
	found := check.Check(file, kinds, l.Errors)
	for _, e := range lint.Lint(file, kinds, slices.Concat(l.Errors, found.Errors)) {
		switch c, _ := lint.Named(e.Check); {
		case c.Certain:
			found.Errors = append(found.Errors, e)
		case l.Program != nil: // Otherwise it may be a consequence of what does not load.
			found.Warnings = append(found.Warnings, e)
		}
	}
	return found
}

// judged is a program while Of applies a policy to it.
type judged struct {
	program  *rules.Program
	kinds    *schema.Set
	policy   Policy
	errors   []*source.Error
	warnings []*source.Error
}

func (p *judged) eachRule(visit func(*rules.Rule)) {
	for _, primary := range p.program.Primaries() {
		for _, r := range primary.Rules {
			visit(r)
		}
	}
}

// volatility warns about what changes with each write of the primary, so that each write causes the next one.
func (p *judged) volatility() {
	p.eachRule(func(r *rules.Rule) {
		k := p.kinds.Kind(r.GVK)
		for _, v := range r.VolatileReads(k == nil || k.Status) {
			e := source.NewError(v.Pos, r.Name, v.Text()+", which changes with every write, so each write causes the next one",
				"read stable fields, such as those of spec")
			e.Check = lint.StatusLoop
			p.warnings = append(p.warnings, e)
		}
	})
}

func (p *judged) reject(at source.Pos, rule *rules.Rule, message, hint string) {
	p.errors = append(p.errors, source.NewError(at, rule.Name, message, hint))
}

// privileges rejects children of privileged kinds that the policy does not allow.
func (p *judged) privileges() {
	p.eachRule(func(r *rules.Rule) {
		for _, c := range r.Children {
			gk := c.GVK.GroupKind()
			if rules.Privileged(gk) && !slices.Contains(p.policy.AllowedKinds, gk.String()) {
				p.reject(c.Pos, r, fmt.Sprintf("child %q: %s is a privileged kind, which rules may not render by default", c.ID,
					gk.Kind),
					"allow it with --allow-kind="+gk.String()+"")
			}
		}
	})
}

// confinement rejects what is known to be outside the namespaces of the policy. It
// warns about rules that have no effect inside them.
func (p *judged) confinement() {
	if len(p.policy.Namespaces) == 0 {
		return
	}
	all := strings.Join(p.policy.Namespaces, ", ")
	p.eachRule(func(r *rules.Rule) {
		inside := func(what string, n rules.Namespace) {
			if n.Name != "" && !slices.Contains(p.policy.Namespaces, n.Name) {
				p.reject(n.Pos, r, fmt.Sprintf("%s: namespace %q is not one of those that reconcel watches: %s", what, n.Name, all),
					"add it to --namespaced")
			}
		}
		namespaced := func(what string, gvk runtimeschema.GroupVersionKind, at source.Pos) {
			if k := p.kinds.Kind(gvk); k != nil && !k.Namespaced {
				p.reject(at, r, fmt.Sprintf("%s: %s is cluster-scoped, which is not possible with --namespaced", what, gvk.Kind),
					"watch all namespaces, or remove the rule")
			}
		}
		namespaced(r.Selection, r.GVK, r.Pos)
		for _, c := range r.Children {
			what := fmt.Sprintf("child %q", c.ID)
			namespaced(what, c.GVK, c.Pos)
			inside(what, r.ChildNamespace(c))
		}
		for _, l := range r.Lookups {
			what := fmt.Sprintf("lookup %q", l.ID)
			namespaced(what, l.GVK, l.Pos)
			inside(what, r.LookupNamespace(l))
		}
		if !slices.ContainsFunc(p.policy.Namespaces, r.Follows) {
			w := source.NewError(r.Pos, r.Name,
				r.Selection+".namespaces has none of those that reconcel watches: "+strings.Join(p.policy.Namespaces, ","),
				"the rule has no effect")
			w.Check = lint.UnwatchedRule
			p.warnings = append(p.warnings, w)
		}
	})
}
