package rules

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation"
)

// An Account is the ServiceAccount as which a rule writes. An account of a rule
// may be one in the namespace of each primary: In says which.
type Account struct {
	Namespace string // "": that of the primary
	Name      string
}

// In returns the account for a primary in a namespace, "" if it is in none. It is
// never without a name: as whom a request without one is made is not for chance
// to decide.
func (a Account) In(namespace string) (Account, error) {
	if a.Namespace == "" {
		a.Namespace = namespace
	}
	switch {
	case a.Namespace == "":
		return Account{}, fmt.Errorf("serviceAccountName: %q needs the namespace of the primary, which has none: write namespace/%[1]s", a.Name)
	case len(validation.IsDNS1123Label(a.Namespace)) > 0 || len(validation.IsDNS1123Subdomain(a.Name)) > 0:
		return Account{}, fmt.Errorf("serviceAccountName: %q cannot be an account", a)
	}
	return a, nil
}

// User returns what the API server calls the account.
func (a Account) User() string { return "system:serviceaccount:" + a.Namespace + ":" + a.Name }

// String returns namespace/name.
func (a Account) String() string { return a.Namespace + "/" + a.Name }
