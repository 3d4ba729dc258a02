package deploy

import (
	"cmp"
	"slices"
	"strings"

	"reconcel/rules"
)

// A permission is one verb that the engine, or a ServiceAccount of rules, may use.
type permission struct {
	account   rules.Account // zero: the engine
	namespace string
	target    Target
	verb      string
}

// Lacking returns the permissions that p has and other lacks, one line for each target.
func (p *Permissions) Lacking(other *Permissions) (lines []string) {
	there := map[permission]bool{}
	for _, one := range other.flat() {
		there[one] = true
	}
	rest := slices.DeleteFunc(p.flat(), func(one permission) bool { return there[one] })
	verbs := map[permission][]string{}
	for _, one := range rest {
		verb := one.verb
		one.verb = ""
		verbs[one] = append(verbs[one], verb)
	}
	for one, list := range verbs {
		line := strings.Join(list, ",") + " " + one.target.String()
		if one.namespace != "" {
			line += " in namespace " + one.namespace
		}
		if one.account != (rules.Account{}) {
			line += " as ServiceAccount " + strings.TrimPrefix(one.account.String(), "/")
		}
		lines = append(lines, line)
	}
	slices.SortFunc(lines, func(a, b string) int {
		_, x, _ := strings.Cut(a, " ")
		_, y, _ := strings.Cut(b, " ")
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(a, b))
	})
	return lines
}

// flat returns each verb alone, in the conventional order of verbs.
func (p *Permissions) flat() (all []permission) {
	for _, a := range p.Accesses() {
		for _, verb := range a.Verbs {
			all = append(all, permission{namespace: a.Namespace, target: a.Target, verb: verb})
		}
	}
	for account, need := range p.accounts {
		for _, one := range need.flat() {
			one.account = account
			all = append(all, one)
		}
	}
	return all
}
