// Package judge decides whether rules may run. All commands use it, so that
// validate never accepts rules that run rejects.
package judge

import (
	"slices"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules"
	"reconcel/rules/check"
	"reconcel/rules/lint"
	"reconcel/rules/schema"
	"reconcel/rules/source"
)

// A Policy is what an administrator allows the rules of an installation to do.
type Policy struct {
	AllowedKinds []string // privileged kinds that rules may create, such as Node
	Namespaces   []string // where reconcel works; none: all
	IgnoreChecks []string // named checks that are turned off
}

// A Verdict is the result of judging rules.
type Verdict struct {
	Errors   source.Errors // the rules must not run
	Warnings source.Errors // the rules may fail for some objects
	Notes    source.Errors // what could not be checked

	// Unreported are the kinds of primaries without status.conditions.
	Unreported []runtimeschema.GroupVersionKind
}

// Err returns all errors as one, or nil.
func (v Verdict) Err() error { return v.Errors.Err() }

// Of judges rules. Without kinds it skips the checks of types; the cluster may
// check them later.
func Of(l *rules.Loaded, kinds *schema.Set, policy Policy) Verdict {
	var found check.Found
	if kinds == nil {
		kinds = schema.Builtin()
	} else {
		found = findings(l, kinds, policy)
	}
	errs, warnings := slices.Concat(l.Errors, found.Errors), found.Warnings
	if l.Program != nil {
		p := judged{program: l.Program, kinds: kinds, policy: policy}
		p.privileges()
		p.confinement()
		errs, warnings = append(errs, p.errors...), append(warnings, p.warnings...)
	}
	return Verdict{
		Errors:     source.Collect(l.Sources, errs),
		Warnings:   source.Collect(l.Sources, warnings),
		Notes:      source.Collect(l.Sources, found.Notes),
		Unreported: found.Unreported,
	}
}

// findings returns what the checks of types and the named checks find, without what a
// comment or the policy silences.
func findings(l *rules.Loaded, kinds *schema.Set, policy Policy) check.Found {
	found := check.Check(l.File, kinds, l.Errors)
	for _, e := range lint.Lint(l.File, kinds, slices.Concat(l.Errors, found.Errors)) {
		switch c, _ := lint.Named(e.Check); {
		case c.Certain:
			found.Errors = append(found.Errors, e)
		case l.Program != nil: // Otherwise it may be a consequence of what does not load.
			found.Warnings = append(found.Warnings, e)
		}
	}
	silence := lint.NewSilence(l.Sources, policy.IgnoreChecks)
	found.Warnings = append(found.Warnings, silence.Unknown...)
	found.Errors = slices.DeleteFunc(found.Errors, silence.Covers)
	found.Warnings = slices.DeleteFunc(found.Warnings, silence.Covers)
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

func (p *judged) reject(at source.Pos, rule *rules.Rule, message, hint string) {
	p.errors = append(p.errors, source.NewError(at, rule.Name, message, hint))
}
