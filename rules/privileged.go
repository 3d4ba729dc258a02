package rules

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// privilegedGroups are the groups whose objects grant permissions or control the API
// server. With roles and their bindings, also those of one namespace, whoever can create
// a primary would hand on permissions that reconcel holds.
var privilegedGroups = []string{
	"admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "authentication.k8s.io",
	"authorization.k8s.io",
	"certificates.k8s.io", "flowcontrol.apiserver.k8s.io", "rbac.authorization.k8s.io",
}

// privilegedKinds are privileged kinds of other groups.
var privilegedKinds = []schema.GroupKind{
	{Kind: "Node"},
	{Group: "scheduling.k8s.io", Kind: "PriorityClass"},
}

// Privileged reports whether objects of a kind grant permissions, or have effects on the
// whole cluster: roles and their bindings, admission webhooks and policies, CRDs,
// APIServices, certificates, Nodes and similar kinds. The administrator of the cluster
// must allow rules that create them.
func Privileged(gk schema.GroupKind) bool {
	return slices.Contains(privilegedGroups, gk.Group) || slices.Contains(privilegedKinds, gk)
}
