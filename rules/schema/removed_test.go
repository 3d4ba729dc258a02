package schema

import (
	"testing"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
)

// TestRemovals expects that each removed version is not served, and that its
// replacement is.
func TestRemovals(t *testing.T) {
	set := Builtin()
	for gvk, r := range removals {
		if set.Kind(gvk) != nil || !BuiltInGroup(gvk.Group) {
			t.Errorf("%v is served, or is not a kind of Kubernetes", gvk)
		}
		instead := runtimeschema.FromAPIVersionAndKind(r.Instead, gvk.Kind)
		if r.Instead != "" && gvk.Kind != "" && set.Kind(instead) == nil {
			t.Errorf("%v is not served", instead)
		}
	}
}
