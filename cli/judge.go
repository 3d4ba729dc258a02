package cli

import (
	"github.com/spf13/pflag"

	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/judge"
	"reconcel/cli/internal/offline"
	"reconcel/rules"
)

// policyFlags are the flags of a policy.
type policyFlags struct {
	allowed []string
	only    namespaceList
	ignored []string
}

func (p *policyFlags) flags(flags *pflag.FlagSet, namespaced string) {
	flags.StringSliceVar(&p.allowed, "allow-kind", nil,
		"allow rules to render this privileged `kind`, such as ClusterRole.rbac.authorization.k8s.io; may be repeated")
	p.only.flag(flags, namespaced)
	flags.StringSliceVar(&p.ignored, "ignore-check", nil, "turn off this named `check`; may be repeated")
}

// asRun is the help of --namespaced in commands that only judge rules.
const asRun = "reject what run rejects with this flag: what lies outside these namespaces; may be repeated (default: " +
	"all)"

func (p *policyFlags) policy() judge.Policy {
	return judge.Policy{AllowedKinds: p.allowed, Namespaces: p.only, IgnoreChecks: p.ignored}
}

// rejected returns the errors of a result, or nil.
func rejected(l *rules.Loaded, v judge.Result) error {
	if len(v.Errors) > 0 {
		return &exit.Error{Code: rejectedCode(l), Err: v.Errors}
	}
	return nil
}

// rejectedCode returns the exit code for rules that are rejected. That of a file that
// cannot be read is the same in all commands.
func rejectedCode(l *rules.Loaded) int {
	if l.Unread {
		return exit.Failed
	}
	return exit.No
}

// offlineRules are the flags of a command that judges rules without a cluster.
type offlineRules struct {
	ruleFiles
	policyFlags
	crds []string
}

func (f *offlineRules) flags(flags *pflag.FlagSet, namespaced string) {
	f.ruleFiles.flags(flags)
	flags.StringSliceVar(&f.crds, "crd", nil,
		"`file` or folder of CustomResourceDefinitions; may be repeated (default: those in the folders of rules)")
	f.policyFlags.flags(flags, namespaced)
}

// judge loads and judges rules. Rejected rules are not an error: see the result.
func (l *loader) judge(f *offlineRules) (offline.Judged, error) {
	if err := f.given(); err != nil {
		return offline.Judged{}, err
	}
	return offline.Judge(l.reader(f.ruleFiles), f.paths, f.crds, f.policy())
}

// accepted loads and judges rules, and returns an error if they are rejected.
func (l *loader) accepted(f *offlineRules) (offline.Judged, error) {
	j, err := l.judge(f)
	if err == nil {
		err = rejected(j.Loaded, j.Result)
	}
	return j, err
}
