package rules

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// privilegedGroups are the groups whose objects say who may do what, or what
// the API server does: whoever makes one can have the whole cluster.
var privilegedGroups = []string{
	"admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "authentication.k8s.io", "authorization.k8s.io",
	"certificates.k8s.io", "flowcontrol.apiserver.k8s.io", "rbac.authorization.k8s.io",
}

// privilegedKinds are more of that sort, in other groups.
var privilegedKinds = []schema.GroupKind{
	{Kind: "Node"},
	{Group: "scheduling.k8s.io", Kind: "PriorityClass"},
}

// Privileged reports whether objects of a kind give power over the cluster:
// roles and their bindings, webhooks and policies of admission, CRDs,
// APIServices, certificates, Nodes and the like. Rules that make some are the
// business of whoever runs the controller, and not only of whoever writes them.
func Privileged(gk schema.GroupKind) bool {
	return slices.Contains(privilegedGroups, gk.Group) || slices.Contains(privilegedKinds, gk)
}
