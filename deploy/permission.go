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
)

var eventsResource = resource{group: "events.k8s.io", path: "events"}

// A resource identifies the object of a permission.
type resource struct {
	group string
	path  string // the plural name, and the subresource after a slash
	name  string // the object's name; "": all objects
}

// Permissions are the permissions that a program needs, each with its reasons.
type Permissions struct {
	verbs   map[resource]map[string]bool
	reasons map[resource][]string

	accounts map[rules.Account]*accountNeed // ServiceAccounts that rules write as
}

func newPermissions() *Permissions {
	return &Permissions{verbs: map[resource]map[string]bool{}, reasons: map[resource][]string{}, accounts: map[rules.Account]*accountNeed{}}
}

// need adds verbs and the reason for them.
func (p *Permissions) need(r resource, verbs []string, why string) {
	if p.verbs[r] == nil {
		p.verbs[r] = map[string]bool{}
	}
	for _, v := range verbs {
		p.verbs[r][v] = true
	}
	if !slices.Contains(p.reasons[r], why) {
		p.reasons[r] = append(p.reasons[r], why)
	}
}

// A grant is a rule of a role: resources of one group with the same verbs.
type grant struct {
	group     string
	resources []string
	names     []string
	verbs     []string
	why       []string
}

// grants returns the permissions as the rules of a role, sorted by group and
// resource. The result does not depend on the order of reconcel's rules.
func (p *Permissions) grants() (all []grant) {
	sorted := slices.SortedFunc(maps.Keys(p.verbs), func(a, b resource) int {
		return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.path, b.path), cmp.Compare(a.name, b.name))
	})
	for _, r := range sorted {
		verbs := ordered(p.verbs[r])
		i := slices.IndexFunc(all, func(g grant) bool {
			return r.name == "" && len(g.names) == 0 && g.group == r.group && slices.Equal(g.verbs, verbs)
		})
		if i < 0 {
			all = append(all, grant{group: r.group, verbs: verbs})
			i = len(all) - 1
		}
		g := &all[i]
		g.resources = append(g.resources, r.path)
		g.why = append(g.why, slices.Sorted(slices.Values(p.reasons[r]))...)
		if r.name != "" {
			g.names = []string{r.name}
		}
	}
	return all
}

func ordered(verbs map[string]bool) []string {
	return slices.DeleteFunc(slices.Clone(verbOrder), func(v string) bool { return !verbs[v] })
}

// named returns a list of rules as text: rules "a", "b".
func named(names []string) string {
	what := "rules"
	if len(names) == 1 {
		what = "rule"
	}
	return what + ` "` + strings.Join(slices.Sorted(slices.Values(names)), `", "`) + `"`
}
