package ruletest

import (
	"path"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// title returns an object as Kind/namespace/name.
func title(u *unstructured.Unstructured) string {
	name := u.GetName()
	if name == "" {
		name = u.GetGenerateName() + "…"
	}
	if u.GetNamespace() != "" {
		name = u.GetNamespace() + "/" + name
	}
	return u.GetKind() + "/" + name
}

// String returns the reference as Kind, Kind/name or Kind/namespace/name.
func (r *Reference) String() string {
	switch {
	case r.Name == "":
		return r.Kind
	case r.Namespace == "":
		return r.Kind + "/" + r.Name
	}
	return r.Kind + "/" + r.Namespace + "/" + r.Name
}

// means reports whether the reference matches an object.
func (r *Reference) means(u *unstructured.Unstructured) bool {
	switch {
	case u.GroupVersionKind().GroupKind() != r.of.GVK.GroupKind():
		return false
	case r.Name == "":
		return true
	}
	matches, err := path.Match(r.Name, u.GetName())
	return err == nil && matches && r.Namespace == u.GetNamespace()
}
