package judge

import (
	"fmt"
	"slices"
	"strings"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules"
	"reconcel/rules/lint"
	"reconcel/rules/source"
)

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
