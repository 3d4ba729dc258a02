package deploy

import (
	"fmt"
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
//
// A ClusterRole cannot have permissions for one namespace, so the namespace of the installation has a Role for the
// ConfigMaps of bundles. It is printed for all rules: if it were for rules with bundles, the commit that removes the
// last of them would remove it too. Permissions in the main role that do not depend on the rules would be for all
// ConfigMaps of the namespace, because RBAC knows no prefixes of names.

// toCleanUp are the verbs of the cleanup role.
var toCleanUp = []string{"get", "list", "watch", "patch", "delete"}

// CleanupName returns the name of the cleanup role of an installation.
func CleanupName(installation string) string { return installation + "-cleanup" }

// withCleanup adds the permissions to write the cleanup roles: to those for what rules make, and to those for the
// engine's own objects.
func (o Options) withCleanup(granted, own *Permissions) (*Permissions, *Permissions) {
	add := func(to *Permissions, kind string) *Permissions {
		of := Target{Group: rbacv1.GroupName, Resource: strings.ToLower(kind) + "s", Name: CleanupName(o.Name)}
		return to.with(of, toRenew, kind+": the permissions to clean up, which reconcel writes itself")
	}
	if !o.watchesHome() {
		own = add(own, "Role")
	}
	if len(o.Namespaced) == 0 {
		return add(granted, "ClusterRole"), own
	}
	return add(granted, "Role"), own
}

// watchesHome reports whether the namespace of the installation is one of Options.Namespaced. The roles there are for
// what rules make then.
func (o Options) watchesHome() bool { return slices.Contains(o.Namespaced, o.Namespace) }

// cleanupRoles returns the cleanup roles.
func (o Options) cleanupRoles() (all []Manifest) {
	v, namespaces := values{"cleanup": CleanupName(o.Name)}, o.Namespaced
	if len(namespaces) == 0 {
		all = append(all, fillTemplate("cleanupclusterrole.yaml", o.values(v)))
	}
	if !o.watchesHome() {
		namespaces = append(slices.Clone(namespaces), o.Namespace)
	}
	return append(all, o.inEach(namespaces, "cleanuproles.yaml", v))
}

// needBundles adds the permissions for the ConfigMaps of rules for the cluster.
func needBundles(p *Permissions, installation string, bundles []string) {
	for _, rule := range bundles {
		why := fmt.Sprintf("ConfigMap: the state of rule %q", rule)
		at := Target{Resource: "configmaps"}
		p.need(at, toFollow, why)
		at.Name = rules.BundleName(installation, rule)
		p.need(at, []string{"get", "patch", "delete"}, why)
	}
}

// A Permit is one verb on objects of a resource.
type Permit struct {
	Group    string
	Resource string // with its subresource
	Name     string // "": all objects
	Verb     string
}

// Of returns the resource without its subresource.
func (p Permit) Of() runtimeschema.GroupResource {
	resource, _, _ := strings.Cut(p.Resource, "/")
	return runtimeschema.GroupResource{Group: p.Group, Resource: resource}
}

// Permits is a set of permissions.
type Permits map[Permit]bool

// Contains reports whether it has all of some permissions.
func (p Permits) Contains(some Permits) bool {
	for permit := range some {
		if !p[permit] {
			return false
		}
	}
	return true
}

// CleanupNeeds returns what the engine needs to remove all that a program makes, and the kinds that are unknown.
func CleanupNeeds(program *rules.Program, kinds *schema.Set) (Permits, []runtimeschema.GroupVersionKind) {
	n := &needs{kinds: kinds, permissions: newPermissions()}
	for _, p := range program.Primaries() {
		n.primary(p)
		for _, r := range p.Rules {
			n.children(r)
		}
	}
	return n.permissions.toCleanUp(), n.unknown
}

// BundleNeeds returns what the engine needs for the ConfigMaps of rules for the cluster, in its namespace.
func BundleNeeds(installation string, bundles []string) Permits {
	p := newPermissions()
	needBundles(p, installation, bundles)
	return p.toCleanUp()
}

// Bundles returns the names of the rules that are for the cluster.
func Bundles(program *rules.Program) (names []string) {
	for _, p := range program.Primaries() {
		for _, r := range p.Rules {
			if r.ForCluster() {
				names = append(names, r.Name)
			}
		}
	}
	return names
}

// toCleanUp returns the permissions of the engine that a cleanup role may have.
func (p *Permissions) toCleanUp() Permits {
	all := Permits{}
	for _, one := range p.flat() {
		if one.account == (rules.Account{}) && slices.Contains(toCleanUp, one.verb) {
			all[one.target.Permit(one.verb)] = true
		}
	}
	return all
}

// PermitsIn returns the permissions in the rules of a role.
func PermitsIn(role []rbacv1.PolicyRule) Permits {
	all := Permits{}
	for _, r := range role {
		names := r.ResourceNames
		if len(names) == 0 {
			names = []string{""}
		}
		for _, group := range r.APIGroups {
			for _, resource := range r.Resources {
				for _, name := range names {
					for _, verb := range r.Verbs {
						all[Permit{group, resource, name, verb}] = true
					}
				}
			}
		}
	}
	return all
}

// Rules returns the permissions as the rules of a role, always in the same order.
func (p Permits) Rules() (all []rbacv1.PolicyRule) {
	permissions := newPermissions()
	for one := range p {
		permissions.need(Target{Group: one.Group, Resource: one.Resource, Name: one.Name}, []string{one.Verb}, "")
	}
	for _, g := range permissions.grants() {
		all = append(all, rbacv1.PolicyRule{APIGroups: []string{g.Group}, Resources: g.paths, ResourceNames: g.names,
			Verbs: g.Verbs})
	}
	return all
}
