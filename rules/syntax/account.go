package syntax

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"reconcel/rules/source"
)

// readAccount reads the ServiceAccount that a rule impersonates. It is a literal,
// because the author of an object must never choose the account that writes.
func readAccount(v source.Value) Account {
	const forms = "write namespace/name, or name alone for the account of that name in the namespace of each primary"
	before := v.Reader.Count()
	given, ok := v.Literal()
	for _, e := range v.Reader.Since(before) {
		e.Hint = cmp.Or(e.Hint, forms)
	}
	if !ok {
		return Account{}
	}
	namespace, name, fixed := strings.Cut(given.Value, "/")
	if !fixed {
		namespace, name = "", namespace
	}
	switch {
	case fixed && namespace == "":
		v.Errorf("%q has no namespace before the /", given.Value).Hint = forms
	case name == "":
		v.Errorf("%q has no name after the /", given.Value).Hint = forms
	case strings.Contains(name, "/"):
		v.Errorf("%q has more than one /", given.Value).Hint = forms
	case strings.HasPrefix(given.Value, accountPrefix):
		v.Errorf("%q is the name of a user", given.Value).Hint =
			"write " + strings.Replace(strings.TrimPrefix(given.Value, accountPrefix), ":", "/", 1)
	case fixed && len(validation.IsDNS1123Label(namespace)) > 0:
		v.Errorf("%q cannot be the name of a namespace", namespace).Hint = forms
	case len(validation.IsDNS1123Subdomain(name)) > 0:
		v.Errorf("%q cannot be the name of a ServiceAccount", name).Hint = forms
	default:
		return Account{Pos: given.Pos, Namespace: namespace, Name: name}
	}
	return Account{}
}

// accountPrefix is the prefix of the user names of ServiceAccounts.
const accountPrefix = "system:serviceaccount:"
