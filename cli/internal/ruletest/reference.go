package ruletest

import (
	"cmp"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"reconcel/rules/schema"
	"reconcel/rules/source"
)

// A reference names objects by kind, by kind and name, or by kind, namespace and
// name. The name may be a pattern.
type reference struct {
	pos       source.Pos
	kind      string // like Deployment or Deployment.apps
	namespace string
	name      string       // "" means all of the kind
	of        *schema.Kind // nil after a complaint
}

// reference reads a reference.
func (r *reader) reference(n *source.Node) *reference {
	text := n.Literal().Value
	segments := strings.Split(text, "/")
	ref := &reference{pos: n.Pos, kind: segments[0]}
	switch len(segments) {
	case 2:
		ref.name = segments[1]
	case 3:
		ref.namespace, ref.name = segments[1], segments[2]
	}
	_, err := path.Match(ref.name, "")
	if len(segments) > 3 || slices.Contains(segments, "") || err != nil {
		r.complain(n.Pos, "write Kind, Kind/name or Kind/namespace/name", "%q names no object", text)
		return ref
	}
	if ref.of = r.kind(n.Pos, ref.kind); ref.of == nil {
		return ref
	}
	switch {
	case ref.of.Namespaced && ref.namespace == "" && ref.name != "":
		ref.namespace = "default"
	case !ref.of.Namespaced && ref.namespace != "":
		r.complain(n.Pos, "write "+ref.kind+"/"+ref.name, "%s: the kind is cluster-scoped", ref.kind)
	}
	return ref
}

// references reads a list of references.
func (r *reader) references(n *source.Node) (all []*reference) {
	for _, item := range itemsIn(n) {
		all = append(all, r.reference(item))
	}
	return all
}

// allOfKind reads the name of a kind as a reference to all its objects.
func (r *reader) allOfKind(n source.String) *reference {
	if strings.Contains(n.Value, "/") {
		r.complain(n.Pos, "write Kind, or Kind.group", "%q is not the name of a kind", n.Value)
		return &reference{}
	}
	return &reference{pos: n.Pos, kind: n.Value, of: r.kind(n.Pos, n.Value)}
}

// matches reports whether the reference names an object.
func (ref *reference) matches(u *unstructured.Unstructured) bool {
	switch {
	case u.GroupVersionKind().GroupKind() != ref.of.GVK.GroupKind():
		return false
	case ref.name == "":
		return true
	}
	matches, err := path.Match(ref.name, u.GetName())
	return err == nil && matches && ref.namespace == u.GetNamespace()
}

// String returns the reference as Kind, Kind/name or Kind/namespace/name.
func (ref *reference) String() string {
	segments := []string{ref.kind, ref.namespace, ref.name}
	return strings.Join(slices.DeleteFunc(segments, func(segment string) bool { return segment == "" }), "/")
}

// titleOf returns an object as Kind/namespace/name.
func titleOf(u *unstructured.Unstructured) string {
	name := u.GetName()
	if name == "" {
		name = u.GetGenerateName() + "…"
	}
	return (&reference{kind: u.GetKind(), namespace: u.GetNamespace(), name: name}).String()
}

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
