package discover

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestAlike changes one field of a kind at a time: with other names for people, its objects are watched as before.
func TestAlike(t *testing.T) {
	kind := Kind{GVK: schema.GroupVersionKind{Kind: "Foo"}, GVR: schema.GroupVersionResource{Resource: "foos"}, Singular: "foo"}
	for name, test := range map[string]struct {
		change func(k *Kind)
		alike  bool
	}{
		"nothing":     {func(*Kind) {}, true},
		"short names": {func(k *Kind) { k.Short = "f" }, true},
		"singular":    {func(k *Kind) { k.Singular = "afoo" }, true},
		"resource":    {func(k *Kind) { k.GVR.Resource = "fooes" }, false},
		"version":     {func(k *Kind) { k.GVK.Version = "v2" }, false},
		"scope":       {func(k *Kind) { k.Namespaced = true }, false},
		"status":      {func(k *Kind) { k.Status = true }, false},
	} {
		t.Run(name, func(t *testing.T) {
			now := kind
			test.change(&now)
			if now.Alike(kind) != test.alike || kind.Alike(now) != test.alike {
				t.Errorf("%+v and %+v: alike is to be %t", kind, now, test.alike)
			}
		})
	}
}
