package rules

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"reconcel/rules/expr"
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
		return Account{}, fmt.Errorf("serviceAccountName: %q is in the namespace of the primary, and that is in none: write namespace/%[1]s", a.Name)
	case len(validation.IsDNS1123Label(a.Namespace)) > 0 || len(validation.IsDNS1123Subdomain(a.Name)) > 0:
		return Account{}, fmt.Errorf("serviceAccountName: %q cannot be an account", a)
	}
	return a, nil
}

// User returns what the API server calls the account.
func (a Account) User() string { return "system:serviceaccount:" + a.Namespace + ":" + a.Name }

// String returns namespace/name.
func (a Account) String() string { return a.Namespace + "/" + a.Name }

// account reads as whom the rule writes.
func (c *compiler) account() {
	if src := c.src.Account; src.Name != "" {
		c.rule.Account, c.rule.accountPos = &Account{Namespace: src.Namespace, Name: src.Name}, src.Pos
	}
}

// impersonates reports whether there is an account as which the rule can write.
func (r *run) impersonates() bool {
	if r.rule.Account == nil || r.rule.Account.Namespace != "" || r.primary.namespace != "" {
		return true
	}
	if _, err := r.rule.Account.In(r.primary.namespace); err != nil {
		r.stop(r.failure("", "", &expr.Error{Pos: r.rule.accountPos, Message: err.Error()}))
		return false
	}
	return true
}

// Reach returns the namespaces that the rule writes in, and whether these are
// known: if it is for objects in any namespace, or makes objects elsewhere, they
// are not.
func (r *Rule) Reach() (namespaces []string, known bool) {
	for _, pattern := range r.Namespaces {
		if strings.ContainsAny(pattern, "*?") {
			return nil, false
		}
	}
	for _, c := range r.Children {
		if c.namespace != nil || c.allowed {
			return nil, false
		}
	}
	return r.Namespaces, len(r.Namespaces) > 0
}
