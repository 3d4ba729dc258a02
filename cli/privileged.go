package cli

import (
	"fmt"
	"slices"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules"
	"reconcel/rules/syntax"
)

// kindList is a flag that names kinds, like ClusterRole.rbac.authorization.k8s.io
// or Node.
type kindList []string

func (k *kindList) flag(flags *pflag.FlagSet) {
	flags.StringSliceVar((*[]string)(k), "allow-kind", nil,
		"let rules make this `kind`, which gives power over the cluster, like ClusterRole.rbac.authorization.k8s.io; may be repeated")
}

func (k kindList) has(gk schema.GroupKind) bool { return slices.Contains(k, gk.String()) }

// refusePrivileged adds a complaint about every child that gives power over the
// cluster and that nobody has allowed.
func (l *loading) refusePrivileged(allowed kindList) {
	if l.program == nil {
		return
	}
	var found []*syntax.Error
	for _, primary := range l.program.Primaries() {
		for _, r := range primary.Rules {
			for _, c := range r.Children {
				gk := c.GVK.GroupKind()
				if rules.Privileged(gk) && !allowed.has(gk) {
					found = append(found, syntax.NewError(c.Pos, r.Name,
						fmt.Sprintf("child %q: a %s gives power over the cluster, which rules alone must not do", c.ID, gk.Kind),
						"start reconcel with --allow-kind="+gk.String()+" if it is to"))
				}
			}
		}
	}
	l.complaints = append(l.complaints, syntax.Collect(l.sources, found)...)
}
