package schema

import (
	"slices"
	"sync"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
)

// builtInGroups are the API groups of Kubernetes itself. A suffix does not identify
// them: the group of a custom kind may end in k8s.io too.
var builtInGroups = sync.OnceValue(func() map[string]bool {
	groups := map[string]bool{}
	for gvk := range builtin().kinds {
		groups[gvk.Group] = true
	}
	for _, gk := range unlisted {
		groups[gk.Group] = true
	}
	groups["extensions"] = true // It has no kinds any more.
	return groups
})

// BuiltInGroup reports whether an API group is one of Kubernetes itself.
func BuiltInGroup(group string) bool { return builtInGroups()[group] }

// unlisted are the cluster-scoped kinds of Kubernetes itself that are not embedded: they
// can only be created, or are not stable.
var unlisted = []runtimeschema.GroupKind{
	{Group: "authentication.k8s.io", Kind: "SelfSubjectReview"},
	{Group: "authentication.k8s.io", Kind: "TokenReview"},
	{Group: "authorization.k8s.io", Kind: "SelfSubjectAccessReview"},
	{Group: "authorization.k8s.io", Kind: "SelfSubjectRulesReview"},
	{Group: "authorization.k8s.io", Kind: "SubjectAccessReview"},
	{Group: "certificates.k8s.io", Kind: "ClusterTrustBundle"},
	{Group: "internal.apiserver.k8s.io", Kind: "StorageVersion"},
	{Group: "resource.k8s.io", Kind: "DeviceTaintRule"},
	{Group: "storagemigration.k8s.io", Kind: "StorageVersionMigration"},
}

// A Scope says whether the objects of a kind have a namespace.
type Scope int

// The scopes.
const (
	UnknownScope Scope = iota
	Namespaced
	ClusterScoped
)

// Scope returns the scope of a kind. An unknown kind of Kubernetes itself counts as
// namespaced.
func (s *Set) Scope(gk runtimeschema.GroupKind) Scope {
	versions := s.Versions(gk)
	switch {
	case len(versions) > 0 && versions[0].Namespaced:
		return Namespaced
	case len(versions) > 0, slices.Contains(unlisted, gk):
		return ClusterScoped
	case BuiltInGroup(gk.Group):
		return Namespaced
	}
	return UnknownScope
}
