package judge

import (
	"fmt"
	"slices"
	"strings"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules"
	"reconcel/rules/source"
)

// privileges rejects every child that gives power over the cluster, unless the
// policy allows its kind.
func (p *judged) privileges() {
	p.eachRule(func(r *rules.Rule) {
		for _, c := range r.Children {
			gk := c.GVK.GroupKind()
			if rules.Privileged(gk) && !slices.Contains(p.policy.AllowedKinds, gk.String()) {
				p.reject(c.Pos, r, fmt.Sprintf("child %q: a %s gives power over the cluster, which rules alone must not do", c.ID, gk.Kind),
					"start reconcel with --allow-kind="+gk.String()+" if it is to")
			}
		}
	})
}

// confinement rejects everything in the rules that is known to lie outside the
// namespaces of the policy, and warns of rules that have nothing to do in them.
func (p *judged) confinement() {
	if len(p.policy.Namespaces) == 0 {
		return
	}
	all := strings.Join(p.policy.Namespaces, ", ")
	p.eachRule(func(r *rules.Rule) {
		inside := func(what, namespace string, at source.Pos) {
			if namespace != "" && !slices.Contains(p.policy.Namespaces, namespace) {
				p.reject(at, r, fmt.Sprintf("%s: namespace %q is not among those that are followed: %s", what, namespace, all), "add it to --namespaced")
			}
		}
		namespaced := func(what string, gvk runtimeschema.GroupVersionKind, at source.Pos) {
			if k := p.kinds.Kind(gvk); k != nil && !k.Namespaced {
				p.reject(at, r, fmt.Sprintf("%s: %s is cluster-scoped, which cannot be followed with --namespaced", what, gvk.Kind),
					"follow all namespaces, or leave the rule out")
			}
		}
		namespaced("for", r.GVK, r.Pos)
		for _, c := range r.Children {
			what := fmt.Sprintf("child %q", c.ID)
			namespaced(what, c.GVK, c.Pos)
			namespace, at := c.FixedNamespace()
			inside(what, namespace, at)
		}
		for _, l := range r.Lookups {
			what := fmt.Sprintf("lookup %q", l.ID)
			namespaced(what, l.GVK, l.Pos)
			namespace, at := l.FixedNamespace()
			inside(what, namespace, at)
		}
		if !slices.ContainsFunc(p.policy.Namespaces, r.Follows) {
			p.warnings = append(p.warnings, source.NewError(r.Pos, r.Name,
				"for.namespaces has none of those that are followed: "+strings.Join(p.policy.Namespaces, ","), "the rule has nothing to do"))
		}
	})
}
