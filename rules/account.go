package rules

import (
	"fmt"

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
