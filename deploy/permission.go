package deploy

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"reconcel/rules"
)

// verbOrder is the order in which verbs are listed: it is how people write them.
var verbOrder = []string{"get", "list", "watch", "create", "update", "patch", "delete", "impersonate"}

// What is asked for together.
var (
	toFollow = []string{"list", "watch"}
	toRead   = []string{"get"}
	toKeep   = []string{"get", "list", "watch", "create", "patch", "delete"}
	toPatch  = []string{"patch"}
	toTell   = []string{"create", "patch"}
)

var eventsResource = resource{group: "events.k8s.io", path: "events"}

// A resource is what a permission is for.
type resource struct {
	group string
	path  string // the plural name, and the subresource after a slash
	name  string // of the one object that is meant; "": all
}

// Permissions are what a program may be allowed, each with its reasons.
type Permissions struct {
	verbs   map[resource]map[string]bool
	reasons map[resource][]string

	accounts map[rules.Account]*accountNeed // as which rules write
}

func newPermissions() *Permissions {
	return &Permissions{verbs: map[resource]map[string]bool{}, reasons: map[resource][]string{}, accounts: map[rules.Account]*accountNeed{}}
}

// need adds verbs and why they are needed.
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

// A grant is an entry of a role: resources of one group that need the same.
type grant struct {
	group     string
	resources []string
	names     []string
	verbs     []string
	why       []string
}

// grants returns the permissions as entries of a role, sorted by group and
// resource: the order of the rules does not matter.
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

// named returns rules by their names: rules "a", "b".
func named(names []string) string {
	what := "rules"
	if len(names) == 1 {
		what = "rule"
	}
	return what + ` "` + strings.Join(slices.Sorted(slices.Values(names)), `", "`) + `"`
}
