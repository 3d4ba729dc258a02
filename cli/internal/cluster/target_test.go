package cluster

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/engine/discover"
)

func TestTargets(t *testing.T) {
	gvk := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Foo"}
	k := &discover.Kind{GVK: gvk, GVR: gvk.GroupVersion().WithResource("foos"), Singular: "foo"}
	for text, want := range map[string]bool{
		"Foo/a": true, "foo/a": true, "foos/a": true, "foo.example.com/a": true, "foos.example.com/a": true, "foo": true,
		"bar/a": false, "foo.example.org/a": false,
	} {
		target, ok := ParseTarget(text)
		if !ok {
			t.Errorf("%s is not accepted", text)
		}
		if got := target.IsOf(gvk, k); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
	for _, text := range []string{"", "foo/", "/a", "foo/a/b"} {
		if _, ok := ParseTarget(text); ok {
			t.Errorf("%s is accepted", text)
		}
	}
}
