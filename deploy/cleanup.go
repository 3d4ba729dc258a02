package deploy

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules"
	"reconcel/rules/schema"
)

// The cleanup role has the permissions to remove what rules have made, for as long as something is left. A commit that
// removes rules removes their permissions from the other roles, perhaps before reconcel has loaded it. Finalizers on
// these roles would do the same, but an uninstallation would wait for them. The printed role has no rules, as an
// aggregated ClusterRole has none, so that no tool touches those that reconcel writes. It is bound to reconcel, which
// therefore holds what it says: so the API server lets it write that again without the verbs escalate and bind.

// toCleanUp are the verbs of the cleanup role.
var toCleanUp = []string{"get", "list", "watch", "patch", "delete"}

// CleanupName returns the name of the cleanup role of an installation.
func CleanupName(installation string) string { return installation + "-cleanup" }

// withCleanup adds the permission to write the cleanup role.
func (o Options) withCleanup(p *Permissions) *Permissions {
	kind, resource := "ClusterRole", "clusterroles"
	if len(o.Namespaced) > 0 {
		kind, resource = "Role", "roles"
	}
	return p.with(Target{Group: rbacv1.GroupName, Resource: resource, Name: CleanupName(o.Name)}, toRenew,
		kind+": the permissions to clean up, which reconcel writes itself")
}

// A Permit is one verb on all objects of a resource.
type Permit struct {
	Group    string
	Resource string // with its subresource
	Verb     string
}

// Of returns the resource without its subresource.
func (p Permit) Of() runtimeschema.GroupResource {
	resource, _, _ := strings.Cut(p.Resource, "/")
	return runtimeschema.GroupResource{Group: p.Group, Resource: resource}
}

// Compare orders permissions by group, resource and verb.
func (p Permit) Compare(other Permit) int {
	return cmp.Or(cmp.Compare(p.Group, other.Group), cmp.Compare(p.Resource, other.Resource),
		cmp.Compare(slices.Index(verbOrder, p.Verb), slices.Index(verbOrder, other.Verb)), cmp.Compare(p.Verb, other.Verb))
}

// Permits is a set of permissions.
type Permits map[Permit]bool

// CleanupNeeds returns what the engine needs to remove all that a program makes, and the kinds of which that is not
// known.
func CleanupNeeds(program *rules.Program, kinds *schema.Set) (Permits, []runtimeschema.GroupVersionKind) {
	n := &needs{kinds: kinds, permissions: newPermissions()}
	for _, p := range program.Primaries() {
		n.primary(p)
		for _, r := range p.Rules {
			n.children(r)
		}
	}
	all := Permits{}
	for _, one := range n.permissions.flat() {
		if one.account == (rules.Account{}) && slices.Contains(toCleanUp, one.verb) {
			all[Permit{one.target.Group, one.target.path(), one.verb}] = true
		}
	}
	return all, n.unknown
}

// PermitsIn returns the permissions in the rules of a role that are for all objects of a resource.
func PermitsIn(role []rbacv1.PolicyRule) Permits {
	all := Permits{}
	for _, r := range role {
		if len(r.ResourceNames) > 0 {
			continue
		}
		for _, group := range r.APIGroups {
			for _, resource := range r.Resources {
				for _, verb := range r.Verbs {
					all[Permit{group, resource, verb}] = true
				}
			}
		}
	}
	return all
}

// Rules returns the permissions as the rules of a role, always in the same order.
func (p Permits) Rules() (all []rbacv1.PolicyRule) {
	verbs := map[Permit][]string{}
	var resources []Permit
	for _, one := range slices.SortedFunc(maps.Keys(p), Permit.Compare) {
		of := Permit{Group: one.Group, Resource: one.Resource}
		if verbs[of] == nil {
			resources = append(resources, of)
		}
		verbs[of] = append(verbs[of], one.Verb)
	}
	for _, of := range resources {
		i := slices.IndexFunc(all, func(r rbacv1.PolicyRule) bool {
			return r.APIGroups[0] == of.Group && slices.Equal(r.Verbs, verbs[of])
		})
		if i < 0 {
			i = len(all)
			all = append(all, rbacv1.PolicyRule{APIGroups: []string{of.Group}, Verbs: verbs[of]})
		}
		all[i].Resources = append(all[i].Resources, of.Resource)
	}
	return all
}
