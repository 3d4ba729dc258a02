package rules

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
)

// An Account is the ServiceAccount that a rule impersonates when it writes. It may
// be one in the namespace of each primary, which In resolves.
type Account struct {
	Namespace string // "": that of the primary
	Name      string
}

// In returns the account for a primary in a namespace, "" for a cluster-scoped
// primary. The result always has a name: a request without one would be made as
// reconcel itself.
func (a Account) In(namespace string) (Account, error) {
	if a.Namespace == "" {
		a.Namespace = namespace
	}
	switch {
	case a.Namespace == "":
		return Account{}, fmt.Errorf("serviceAccountName: %q needs the namespace of the primary, which has none: write "+
			"namespace/%[1]s", a.Name)
	case len(validation.IsDNS1123Label(a.Namespace)) > 0 || len(validation.IsDNS1123Subdomain(a.Name)) > 0:
		return Account{}, fmt.Errorf("serviceAccountName: %q cannot be an account", a)
	}
	return a, nil
}

// User returns the user name of the account.
func (a Account) User() string { return "system:serviceaccount:" + a.Namespace + ":" + a.Name }

// String returns namespace/name.
func (a Account) String() string { return a.Namespace + "/" + a.Name }

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
