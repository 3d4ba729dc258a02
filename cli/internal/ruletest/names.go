package ruletest

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"reconcel/rules/schema"
	"reconcel/rules/source"
)

// kindNames finds kinds by their names in test files.
type kindNames struct {
	kinds map[string][]*schema.Kind // by name, with one version of each group
	used  map[runtimeschema.GroupVersionKind]bool
}

func newKindNames(s Setting) *kindNames {
	n := &kindNames{kinds: map[string][]*schema.Kind{}, used: s.Program.UsedKinds()}
	for _, k := range s.Kinds.All() {
		n.kinds[k.GVK.Kind] = append(n.kinds[k.GVK.Kind], k)
	}
	for name, kinds := range n.kinds {
		slices.SortFunc(kinds, func(a, b *schema.Kind) int {
			return cmp.Or(strings.Compare(a.GVK.Group, b.GVK.Group), n.byPreference(a, b))
		})
		n.kinds[name] = slices.CompactFunc(kinds, func(a, b *schema.Kind) bool { return a.GVK.Group == b.GVK.Group })
	}
	return n
}

// byPreference orders the versions of a kind: first those that the rules use, then
// the most stable ones.
func (n *kindNames) byPreference(a, b *schema.Kind) int {
	switch {
	case n.used[a.GVK] == n.used[b.GVK]:
		return version.CompareKubeAwareVersionStrings(b.GVK.Version, a.GVK.Version)
	case n.used[a.GVK]:
		return -1
	}
	return 1
}

var versionName = regexp.MustCompile(`^v[0-9]+$`)

// find returns the kinds with a name like Deployment, Deployment.apps or, in the
// core group, Event.v1. Without a group, kinds that the rules use take precedence.
func (n *kindNames) find(name string) []*schema.Kind {
	kind, group, hasGroup := strings.Cut(name, ".")
	if versionName.MatchString(group) {
		group = ""
	}
	var found, used []*schema.Kind
	for _, k := range n.kinds[kind] {
		if hasGroup && k.GVK.Group != group {
			continue
		}
		found = append(found, k)
		if n.used[k.GVK] {
			used = append(used, k)
		}
	}
	if len(used) > 0 {
		return used
	}
	return found
}

// kind returns the kind with a name, or nil after a complaint.
func (r *reader) kind(pos source.Pos, name string) *schema.Kind {
	found := r.kinds.find(name)
	switch {
	case len(found) == 1:
		return found[0]
	case len(found) > 1:
		var options []string
		for _, k := range found {
			options = append(options, k.GVK.Kind+"."+cmp.Or(k.GVK.Group, k.GVK.Version))
		}
		r.complain(pos, "write "+strings.Join(options, " or "), "there are %d kinds %s", len(found), name)
		return nil
	}
	kind, group, _ := strings.Cut(name, ".")
	r.complain(pos, r.kinds.hint(runtimeschema.GroupVersionKind{Group: group, Kind: kind}), "there is no kind %s", name)
	return nil
}

// hint returns a suggestion for an unknown kind.
func (n *kindNames) hint(gvk runtimeschema.GroupVersionKind) string {
	if others := n.kinds[gvk.Kind]; len(others) > 0 {
		return "there is " + others[0].GVK.GroupVersion().String() + ", kind: " + gvk.Kind
	}
	return cmp.Or(source.Suggest(gvk.Kind, slices.Collect(maps.Keys(n.kinds))),
		"name its CustomResourceDefinition in crds:")
}
