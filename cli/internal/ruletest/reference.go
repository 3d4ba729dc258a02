package ruletest

import (
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

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
