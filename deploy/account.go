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

// Verbs for a rule with a ServiceAccount: the engine reads and impersonates, and
// the ServiceAccount writes.
var (
	toSee   = []string{"get", "list", "watch"}
	toWrite = []string{"create", "patch", "delete"}
	toBe    = []string{"impersonate"}
)

// An accountNeed has the permissions that one ServiceAccount of rules needs.
type accountNeed struct {
	*Permissions
	everywhere bool     // the namespaces in which the rules write are unknown
	namespaces []string // otherwise, the namespaces in which the rules write
	rules      []string
}

// account returns the entry of a rule's ServiceAccount and adds it when missing.
// Callers call it only for rules that write, because the engine does not
// impersonate the account otherwise.
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
		n.permissions.need(accountTarget(*r.Account), toBe,
			fmt.Sprintf("ServiceAccount: the account of rule %q, in the namespace of each resource", r.Name))
	}
	return a
}

// accountTarget returns the target of a permission to impersonate a ServiceAccount.
func accountTarget(a rules.Account) Target { return Target{Resource: "serviceaccounts", Name: a.Name} }

// sortedAccounts returns the ServiceAccounts of rules by namespace and name.
func (p *Permissions) sortedAccounts() []rules.Account {
	return slices.SortedFunc(maps.Keys(p.accounts), func(a, b rules.Account) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}

// acting returns, by namespace, the permissions to impersonate the ServiceAccounts
// of that namespace.
func (p *Permissions) acting() map[string]*Permissions {
	acting := map[string]*Permissions{}
	for _, a := range p.sortedAccounts() {
		if a.Namespace == "" {
			continue // The role for all namespaces has the permission.
		}
		if acting[a.Namespace] == nil {
			acting[a.Namespace] = newPermissions()
		}
		acting[a.Namespace].need(accountTarget(a), toBe, "ServiceAccount: "+writeClause(p.accounts[a].rules)+" as it")
	}
	return acting
}

// accountRoles returns the roles of the rules' ServiceAccounts, and the roles
// that permit the engine to impersonate ServiceAccounts of one namespace.
func (o Options) accountRoles(p *Permissions) []Manifest {
	if len(p.accounts) == 0 {
		return nil
	}
	acting := p.acting()
	m := Manifest{Name: "accounts.yaml"}
	for _, place := range slices.Sorted(maps.Keys(acting)) {
		m.docs = append(m.docs, fillTemplate("impersonate.yaml",
			o.values(values{"place": place, "rules": roleRules(acting[place])})).docs...)
	}
	for _, a := range p.sortedAccounts() {
		m.docs = append(m.docs, o.accountRole(a, p.accounts[a])...)
	}
	if m.docs == nil {
		return nil // They write in no watched namespace.
	}
	return []Manifest{m}
}

// accountRole returns the role of one ServiceAccount, with bindings if its
// namespaces are known. If each namespace has its own ServiceAccount, the owner of
// the namespace must create the binding.
func (o Options) accountRole(account rules.Account, need *accountNeed) []*yaml.Node {
	role := o.Name + ":" + account.Name
	if account.Namespace != "" {
		role = o.Name + ":" + account.Namespace + ":" + account.Name
	}
	v := values{"role": role, "account": account.Name, "place": account.Namespace, "rules": roleRules(need.Permissions)}
	if len(o.Namespaced) > 0 {
		return o.accountRoleInEach(account, need, v)
	}
	docs := fillTemplate("account.yaml", o.values(v)).docs
	if account.Namespace == "" {
		addComment(docs[0], fmt.Sprintf("What %s as the ServiceAccount %s of a namespace. It has no binding:\n"+
			"each namespace grants it with its own RoleBinding:\n"+
			"kubectl create rolebinding %[2]s -n NAMESPACE --clusterrole=%[3]s --serviceaccount=NAMESPACE:%[2]s",
			writeClause(need.rules), account.Name, role))
		return docs
	}
	addComment(docs[0], fmt.Sprintf("What %s as the ServiceAccount %s.", writeClause(need.rules), account))
	if need.everywhere {
		return append(docs, fillTemplate("accounteverywhere.yaml", o.values(v)).docs...)
	}
	for _, namespace := range slices.Compact(slices.Sorted(slices.Values(need.namespaces))) {
		v["reach"] = namespace
		docs = append(docs, fillTemplate("accountthere.yaml", o.values(v)).docs...)
	}
	return docs
}

// accountRoleInEach returns a Role of one ServiceAccount for each watched
// namespace.
func (o Options) accountRoleInEach(account rules.Account, need *accountNeed, v values) (docs []*yaml.Node) {
	for _, namespace := range o.Namespaced {
		if !need.everywhere && !slices.Contains(need.namespaces, namespace) {
			continue
		}
		v["reach"] = namespace
		there := fillTemplate("accountrole.yaml", o.values(v)).docs
		if account.Namespace == "" {
			addComment(there[0], fmt.Sprintf("What %s as the ServiceAccount %s of this namespace. It has no binding: the "+
				"namespace grants it with\n"+
				"kubectl create rolebinding %[2]s -n %[3]s --role=%[4]s --serviceaccount=%[3]s:%[2]s",
				writeClause(need.rules), account.Name, namespace, v["role"]))
			docs = append(docs, there[0])
			continue
		}
		addComment(there[0], fmt.Sprintf("What %s here as the ServiceAccount %s.", writeClause(need.rules), account))
		docs = append(docs, there...)
	}
	return docs
}

// addComment adds a comment above the first key of an object.
func addComment(doc *yaml.Node, text string) {
	doc.Content[0].Content[0].HeadComment = "# " + strings.ReplaceAll(text, "\n", "\n# ")
}

// writeClause returns a clause with the rules as the subject and the verb "write".
func writeClause(names []string) string {
	if len(names) == 1 {
		return ruleNames(names) + " writes"
	}
	return ruleNames(names) + " write"
}
