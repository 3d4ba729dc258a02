package cluster

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/engine/discover"
)

func TestTargets(t *testing.T) {
	gvk := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Foo"}
	k := &discover.Kind{GVK: gvk, GVR: gvk.GroupVersion().WithResource("foos"), Singular: "foo", Short: "fo ff"}
	for text, want := range map[string]bool{
		"Foo/a": true, "foo/a": true, "foos/a": true, "foo.example.com/a": true, "foos.example.com/a": true, "foo": true,
		"fo/a": true, "ff": true, "fo.example.com/a": true, "foos.v1.example.com/a": true, "foos.v2.example.com/a": false, "f/a": false,
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

// TestShortNameOfOneKindIsTheNameOfAnother has a kind whose name is a short name of another one.
func TestShortNameOfOneKindIsTheNameOfAnother(t *testing.T) {
	var served []discover.Kind
	for kind, short := range map[string]string{"Foo": "ff", "Bar": "foo bb", "Baz": "bb"} {
		gvk := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: kind}
		served = append(served, discover.Kind{GVK: gvk, GVR: gvk.GroupVersion().WithResource(strings.ToLower(kind) + "s"), Short: short})
	}
	for text, want := range map[string]string{"foo/a": "Foo", "ff/a": "Foo", "bb/a": "several kinds have that name, add the group: ", "no/a": "does not serve"} {
		target, _ := ParseTarget(text)
		k, err := target.KindIn(served, nil)
		if err == nil && k.GVK.Kind != want || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s is %v (%v), want %s", text, k, err, want)
		}
	}
}
