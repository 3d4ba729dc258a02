package syntax

import (
	"cmp"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation"
)

// account reads as which ServiceAccount a rule writes. It is a literal: who
// writes must never be up to the author of an object.
func (s scope) account(n *yaml.Node) Account {
	const forms = "write namespace/name, or name alone for the account of that name in the namespace of each primary"
	before := len(s.errs)
	given, ok := s.literal(n)
	for _, e := range s.errs[before:] {
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
		s.errorf(given.Pos, "%q has no namespace before the /", given.Value).Hint = forms
	case name == "":
		s.errorf(given.Pos, "%q has no name after the /", given.Value).Hint = forms
	case strings.Contains(name, "/"):
		s.errorf(given.Pos, "%q has more than one /", given.Value).Hint = forms
	case strings.HasPrefix(given.Value, accountPrefix):
		s.errorf(given.Pos, "%q is the name of a user", given.Value).Hint =
			"write " + strings.Replace(strings.TrimPrefix(given.Value, accountPrefix), ":", "/", 1)
	case fixed && len(validation.IsDNS1123Label(namespace)) > 0:
		s.errorf(given.Pos, "%q cannot be the name of a namespace", namespace).Hint = forms
	case len(validation.IsDNS1123Subdomain(name)) > 0:
		s.errorf(given.Pos, "%q cannot be the name of a ServiceAccount", name).Hint = forms
	default:
		return Account{Pos: given.Pos, Namespace: namespace, Name: name}
	}
	return Account{}
}

// accountPrefix begins what ServiceAccounts are called as users.
const accountPrefix = "system:serviceaccount:"
