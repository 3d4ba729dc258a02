package cluster

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/engine/discover"
)

// A Target selects resources on the command line, as for kubectl.
type Target struct {
	Text       string // the whole argument
	kind, Name string // Name is empty for all resources of the kind
}

// ParseTarget reads KIND or KIND/NAME. It returns false if the text is neither.
func ParseTarget(text string) (Target, bool) {
	kind, name, named := strings.Cut(text, "/")
	ok := kind != "" && named == (name != "") && !strings.Contains(name, "/")
	return Target{text, strings.ToLower(kind), name}, ok
}

// IsOf reports whether the target names a kind: as Foo, foo or foos, with or
// without its group. k is nil if the API server does not serve the kind.
func (t Target) IsOf(gvk schema.GroupVersionKind, k *discover.Kind) bool {
	names := []string{strings.ToLower(gvk.Kind)}
	if k != nil {
		names = append(names, k.GVR.Resource, k.Singular)
	}
	return slices.ContainsFunc(names, func(name string) bool {
		return name != "" && (t.kind == name || t.kind == name+"."+gvk.Group)
	})
}
