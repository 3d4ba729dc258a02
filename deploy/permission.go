package deploy

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"reconcel/rules"
)

// verbOrder is the conventional order of verbs.
var verbOrder = []string{"get", "list", "watch", "create", "update", "patch", "delete", "impersonate"}

// Verbs that are needed together.
var (
	toFollow = []string{"list", "watch"}
	toRead   = []string{"get"}
	toKeep   = []string{"get", "list", "watch", "create", "patch", "delete"}
	toPatch  = []string{"patch"}
	toTell   = []string{"create", "patch"}
	toRenew  = []string{"get", "update"}
)

// A Target identifies the objects of a permission.
type Target struct {
	Group       string
	Resource    string
	Subresource string
	Name        string // the object's name; "": all objects
}

var eventsTarget = Target{Group: "events.k8s.io", Resource: "events"}

// String returns the target as kubectl writes it: deployments.apps/status.
func (t Target) String() string {
	text := t.Resource
	if t.Group != "" {
		text += "." + t.Group
	}
	if t.Subresource != "" {
		text += "/" + t.Subresource
	}
	if t.Name != "" {
		text += " " + t.Name
	}
	return text
}

// path returns the resource and its subresource as in a role.
func (t Target) path() string { return strings.TrimSuffix(t.Resource+"/"+t.Subresource, "/") }

// Permit returns the permission for one verb.
func (t Target) Permit(verb string) Permit { return Permit{t.Group, t.path(), t.Name, verb} }

// An Access has the verbs that are needed for one target.
type Access struct {
	Target
	Namespace string // the only namespace; "": all watched namespaces
	Verbs     []string
	Why       []string
}

// Permissions are the permissions that a program needs, each with its reasons.
type Permissions struct {
	accesses map[Target]*Access
	accounts map[rules.Account]*accountNeed // ServiceAccounts that rules write as
	bundles  []string                       // the rules for the cluster
}

func newPermissions() *Permissions {
	return &Permissions{accesses: map[Target]*Access{}, accounts: map[rules.Account]*accountNeed{}}
}

// need adds verbs and the reason for them.
func (p *Permissions) need(t Target, verbs []string, why string) {
	if p.accesses[t] == nil {
		p.accesses[t] = &Access{Target: t}
	}
	a := p.accesses[t]
	a.Verbs = append(a.Verbs, verbs...)
	a.Why = append(a.Why, why)
}

// with returns the permissions with one more.
func (p *Permissions) with(t Target, verbs []string, why string) *Permissions {
	more := *p
	more.accesses = maps.Clone(p.accesses)
	more.accesses[t] = &Access{Target: t, Verbs: verbs, Why: []string{why}}
	return &more
}

// sorted returns the permissions by group and resource, each verb and reason once.
func (p *Permissions) sorted() (all []Access) {
	targets := slices.SortedFunc(maps.Keys(p.accesses), func(a, b Target) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.path(), b.path()), cmp.Compare(a.Name, b.Name))
	})
	for _, t := range targets {
		a := *p.accesses[t]
		verbs := a.Verbs
		a.Verbs = slices.DeleteFunc(slices.Clone(verbOrder), func(v string) bool { return !slices.Contains(verbs, v) })
		a.Why = slices.Compact(slices.Sorted(slices.Values(a.Why)))
		all = append(all, a)
	}
	return all
}

// reading returns the permissions of a dry run: to read what the rules write, too.
func (p *Permissions) reading() *Permissions {
	out := newPermissions()
	for t, a := range p.accesses {
		verbs := slices.DeleteFunc(slices.Clone(a.Verbs),
			func(verb string) bool { return verb != "get" && verb != "list" && verb != "watch" })
		if len(verbs) > 0 {
			out.need(t, append(verbs, toRead...), "")
			out.accesses[t].Why = a.Why
		}
	}
	return out
}

// Accesses returns the permissions one by one, sorted by group and resource. The
// permissions to impersonate ServiceAccounts of one namespace come last.
func (p *Permissions) Accesses() []Access {
	all, acting := p.sorted(), p.acting()
	for _, namespace := range slices.Sorted(maps.Keys(acting)) {
		for _, a := range acting[namespace].sorted() {
			a.Namespace = namespace
			all = append(all, a)
		}
	}
	return all
}

// A grant is a rule of a role: the permissions of one group with the same verbs.
type grant struct {
	Access
	paths []string
	names []string // none: all objects
}

// grants returns the permissions as the rules of a role, sorted by group and
// resource. The result does not depend on the order of reconcel's rules.
func (p *Permissions) grants() (all []grant) {
	for _, a := range p.sorted() {
		i := slices.IndexFunc(all, func(g grant) bool {
			alike := g.Group == a.Group && slices.Equal(g.Verbs, a.Verbs)
			if a.Name != "" && g.Name != "" {
				return alike && g.path() == a.path() && slices.Equal(g.Why, a.Why)
			}
			return alike && a.Name == g.Name
		})
		switch {
		case i < 0 && a.Name == "":
			all = append(all, grant{a, []string{a.path()}, nil})
			continue
		case i < 0:
			all = append(all, grant{a, []string{a.path()}, []string{a.Name}})
			continue
		case a.Name != "":
			all[i].names = append(all[i].names, a.Name)
			continue
		}
		all[i].paths = append(all[i].paths, a.path())
		all[i].Why = append(all[i].Why, a.Why...)
	}
	return all
}

// ruleNames returns a list of rules as text: rules "a", "b".
func ruleNames(names []string) string {
	what := "rules"
	if len(names) == 1 {
		what = "rule"
	}
	return what + ` "` + strings.Join(slices.Sorted(slices.Values(names)), `", "`) + `"`
}
