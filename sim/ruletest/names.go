package ruletest

import (
	"regexp"
	"slices"
	"strings"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"reconcel/rules"
	"reconcel/rules/schema"
	"reconcel/rules/source"
)

// names finds kinds by their names in test files.
type names struct {
	kinds map[string][]*schema.Kind // by name, with one version of each group
	used  map[runtimeschema.GroupVersionKind]bool
}

func newNames(s Setting) *names {
	n := &names{kinds: map[string][]*schema.Kind{}, used: Used(s.Program)}
	for _, k := range s.Kinds.All() {
		list := n.kinds[k.GVK.Kind]
		i := slices.IndexFunc(list, func(other *schema.Kind) bool { return other.GVK.Group == k.GVK.Group })
		switch {
		case i < 0:
			n.kinds[k.GVK.Kind] = append(list, k)
		case n.better(k, list[i]):
			list[i] = k
		}
	}
	for _, list := range n.kinds {
		slices.SortFunc(list, func(a, b *schema.Kind) int { return strings.Compare(a.GVK.Group, b.GVK.Group) })
	}
	return n
}

// better reports whether a version of a kind is preferred to another version: the
// version that the rules use, or else the most stable one.
func (n *names) better(k, other *schema.Kind) bool {
	if n.used[k.GVK] != n.used[other.GVK] {
		return n.used[k.GVK]
	}
	return version.CompareKubeAwareVersionStrings(k.GVK.Version, other.GVK.Version) > 0
}

// Used returns the kinds of the primaries, children and lookups of rules.
func Used(program *rules.Program) map[runtimeschema.GroupVersionKind]bool {
	used := map[runtimeschema.GroupVersionKind]bool{}
	for _, primary := range program.Primaries() {
		used[primary.GVK] = true
		for _, rule := range primary.Rules {
			for _, child := range rule.Children {
				used[child.GVK] = true
			}
			for _, lookup := range rule.Lookups {
				used[lookup.GVK] = true
			}
		}
	}
	return used
}

var versionName = regexp.MustCompile(`^v[0-9]+$`)

// find returns the kinds with a name like Deployment, Deployment.apps or, in the
// core group, Event.v1. Without a group, kinds that the rules use take precedence.
func (n *names) find(name string) []*schema.Kind {
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

// qualified returns the unambiguous name of a kind.
func qualified(gvk runtimeschema.GroupVersionKind) string {
	if gvk.Group == "" {
		return gvk.Kind + "." + gvk.Version
	}
	return gvk.Kind + "." + gvk.Group
}

// hint returns a suggestion for an unknown kind.
func (n *names) hint(gvk runtimeschema.GroupVersionKind) string {
	if list := n.kinds[gvk.Kind]; len(list) > 0 {
		return "there is " + list[0].GVK.GroupVersion().String() + ", kind: " + gvk.Kind
	}
	var all []string
	for name := range n.kinds {
		all = append(all, name)
	}
	if near := source.Nearest(gvk.Kind, all); near != "" {
		return "did you mean '" + near + "'?"
	}
	return "name its CustomResourceDefinition in crds:"
}
