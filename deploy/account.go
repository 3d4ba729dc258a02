package deploy

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"reconcel/rules"
)

// What is asked for where a rule writes as an account: the engine goes on to read,
// and the account writes.
var (
	toSee   = []string{"get", "list", "watch"}
	toWrite = []string{"create", "patch", "delete"}
	toBe    = []string{"impersonate"}
)

// An accountNeed is what one account of rules needs.
type accountNeed struct {
	*Permissions
	everywhere bool     // the rules do not say in which namespaces they write
	namespaces []string // or else these
	rules      []string
}

// account returns what the account of a rule needs so far. It is asked for where
// the rule writes something: else nobody acts as the account.
func (n *needs) account(r *rules.Rule) *accountNeed {
	all := n.permissions.accounts
	a := all[*r.Account]
	if a == nil {
		a = &accountNeed{Permissions: newPermissions()}
		all[*r.Account] = a
	}
	if slices.Contains(a.rules, r.Name) {
		return a
	}
	a.rules = append(a.rules, r.Name)
	namespaces, known := r.Reach()
	a.everywhere = a.everywhere || !known
	a.namespaces = append(a.namespaces, namespaces...)
	if r.Account.Namespace == "" {
		n.permissions.need(accountOf(*r.Account), toBe, fmt.Sprintf("ServiceAccount: the account of rule %q, in the namespace of each resource", r.Name))
	}
	return a
}

// accountOf is an account as a resource.
func accountOf(a rules.Account) resource { return resource{path: "serviceaccounts", name: a.Name} }

// sortedAccounts returns the accounts as which rules write.
func (p *Permissions) sortedAccounts() []rules.Account {
	return slices.SortedFunc(maps.Keys(p.accounts), func(a, b rules.Account) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}

// acting returns, by namespace, what is needed to act as the accounts of one.
func (p *Permissions) acting() map[string]*Permissions {
	acting := map[string]*Permissions{}
	for _, a := range p.sortedAccounts() {
		if a.Namespace == "" {
			continue // The role for all namespaces has it.
		}
		if acting[a.Namespace] == nil {
			acting[a.Namespace] = newPermissions()
		}
		acting[a.Namespace].need(accountOf(a), toBe, "ServiceAccount: "+writes(p.accounts[a].rules)+" as it")
	}
	return acting
}

// accountRoles returns the roles of the accounts of rules, and those by which the
// engine may act as accounts of one namespace.
func (o Options) accountRoles(p *Permissions) []Manifest {
	if len(p.accounts) == 0 {
		return nil
	}
	acting := p.acting()
	m := Manifest{Name: "accounts.yaml"}
	for _, place := range slices.Sorted(maps.Keys(acting)) {
		m.docs = append(m.docs, fill("impersonate.yaml", o.values(values{"place": place, "rules": entries(acting[place])})).docs...)
	}
	for _, a := range p.sortedAccounts() {
		m.docs = append(m.docs, o.accountRole(a, p.accounts[a])...)
	}
	if m.docs == nil {
		return nil // They write in no namespace that is followed.
	}
	return []Manifest{m}
}

// accountRole returns what one account needs. It is bound where that is known. An
// account of each namespace is left to whom the namespace belongs to.
func (o Options) accountRole(account rules.Account, need *accountNeed) []*yaml.Node {
	role := o.Name + ":" + account.Name
	if account.Namespace != "" {
		role = o.Name + ":" + account.Namespace + ":" + account.Name
	}
	v := values{"role": role, "account": account.Name, "place": account.Namespace, "rules": entries(need.Permissions)}
	if len(o.Namespaced) > 0 {
		return o.accountRoleInEach(account, need, v)
	}
	docs := fill("account.yaml", o.values(v)).docs
	if account.Namespace == "" {
		comment(docs[0], fmt.Sprintf("What %s as the ServiceAccount %s of a namespace. It has no binding:\n"+
			"each namespace grants it with its own RoleBinding:\n"+
			"kubectl create rolebinding %[2]s -n NAMESPACE --clusterrole=%[3]s --serviceaccount=NAMESPACE:%[2]s",
			writes(need.rules), account.Name, role))
		return docs
	}
	comment(docs[0], fmt.Sprintf("What %s as the ServiceAccount %s.", writes(need.rules), account))
	if need.everywhere {
		return append(docs, fill("accounteverywhere.yaml", o.values(v)).docs...)
	}
	for _, namespace := range need.places() {
		v["reach"] = namespace
		docs = append(docs, fill("accountthere.yaml", o.values(v)).docs...)
	}
	return docs
}

// accountRoleInEach returns what one account needs as a role in each namespace
// that is followed.
func (o Options) accountRoleInEach(account rules.Account, need *accountNeed, v values) (docs []*yaml.Node) {
	for _, namespace := range o.Namespaced {
		if !need.everywhere && !slices.Contains(need.namespaces, namespace) {
			continue
		}
		v["reach"] = namespace
		there := fill("accountrole.yaml", o.values(v)).docs
		if account.Namespace == "" {
			comment(there[0], fmt.Sprintf("What %s as the ServiceAccount %s of this namespace. It has no binding: the namespace grants it with\n"+
				"kubectl create rolebinding %[2]s -n %[3]s --role=%[4]s --serviceaccount=%[3]s:%[2]s",
				writes(need.rules), account.Name, namespace, v["role"]))
			docs = append(docs, there[0])
			continue
		}
		comment(there[0], fmt.Sprintf("What %s here as the ServiceAccount %s.", writes(need.rules), account))
		docs = append(docs, there...)
	}
	return docs
}

// places returns the namespaces in which the rules write, if these are known.
func (a *accountNeed) places() []string {
	return slices.Compact(slices.Sorted(slices.Values(a.namespaces)))
}

// comment puts a comment above the first key of an object: where one would write
// it.
func comment(doc *yaml.Node, text string) {
	doc.Content[0].Content[0].HeadComment = "# " + strings.ReplaceAll(text, "\n", "\n# ")
}

// writes says that rules write.
func writes(names []string) string {
	if len(names) == 1 {
		return named(names) + " writes"
	}
	return named(names) + " write"
}
