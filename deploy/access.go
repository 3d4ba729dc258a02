package deploy

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// An Access has the verbs that are needed for one resource.
type Access struct {
	Group       string
	Resource    string
	Subresource string
	Name        string // the object's name; "": all objects
	Namespace   string // the only namespace; "": all watched namespaces
	Verbs       []string
	Why         []string
}

// String returns the resource as kubectl writes it: deployments.apps/status.
func (a Access) String() string {
	text := a.Resource
	if a.Group != "" {
		text += "." + a.Group
	}
	if a.Subresource != "" {
		text += "/" + a.Subresource
	}
	if a.Name != "" {
		text += " " + a.Name
	}
	return text
}

// Accesses returns the permissions one by one, sorted by group and resource. The
// permissions to impersonate ServiceAccounts of one namespace come last.
func (p *Permissions) Accesses() (all []Access) {
	sorted := slices.SortedFunc(maps.Keys(p.verbs), func(a, b resource) int {
		return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.path, b.path), cmp.Compare(a.name, b.name))
	})
	for _, r := range sorted {
		path, sub, _ := strings.Cut(r.path, "/")
		all = append(all, Access{
			Group: r.group, Resource: path, Subresource: sub, Name: r.name,
			Verbs: ordered(p.verbs[r]), Why: slices.Sorted(slices.Values(p.reasons[r])),
		})
	}
	acting := p.acting()
	for _, namespace := range slices.Sorted(maps.Keys(acting)) {
		for _, a := range acting[namespace].Accesses() {
			a.Namespace = namespace
			all = append(all, a)
		}
	}
	return all
}
