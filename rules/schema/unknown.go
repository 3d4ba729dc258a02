package schema

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// An UnknownField is a field that a kind does not have.
type UnknownField struct {
	Path string   // like spec.ports[0].prot
	Name string   // the last part of it
	Have []string // the fields that there are in its place, sorted
}

// Unknown returns the fields of an object, or of a part of one, that its kind
// does not have, sorted by path. An API server drops or refuses them. There are
// none if nothing is known of the kind.
func (s *Set) Unknown(k *Kind, object map[string]any) []UnknownField {
	root := s.Schema(k.GVK)
	if root == nil {
		return nil
	}
	u := &unknown{set: s, custom: k.Custom}
	u.visit("", root, object)
	return u.found
}

// unknown collects fields.
type unknown struct {
	set    *Set
	custom bool
	found  []UnknownField
}

func (u *unknown) visit(path string, at *spec.Schema, value any) {
	if at = u.set.Resolve(at); at == nil {
		return
	}
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			below := name
			if path != "" {
				below = path + "." + name
			}
			u.field(below, name, at, value[name])
		}
	case []any:
		if at.Items == nil || at.Items.Schema == nil {
			return
		}
		for i := range value {
			u.visit(fmt.Sprintf("%s[%d]", path, i), at.Items.Schema, value[i])
		}
	}
}

func (u *unknown) field(path, name string, at *spec.Schema, value any) {
	if p, known := at.Properties[name]; known {
		u.visit(path, &p, value)
		return
	}
	if extra := at.AdditionalProperties; extra != nil && extra.Schema != nil {
		u.visit(path, extra.Schema, value)
		return
	}
	if !u.open(at) {
		u.found = append(u.found, UnknownField{path, name, slices.Sorted(maps.Keys(at.Properties))})
	}
}

// open reports whether anything may stand in an object, or whether it is none.
func (u *unknown) open(at *spec.Schema) bool {
	preserve, _ := at.Extensions.GetBool("x-kubernetes-preserve-unknown-fields")
	embedded, _ := at.Extensions.GetBool("x-kubernetes-embedded-resource")
	switch {
	case preserve, embedded, !at.Type.Contains("object"):
		return true
	case at.AdditionalProperties != nil:
		return at.AdditionalProperties.Allows
	}
	return len(at.Properties) == 0 && !u.custom // Kubernetes' own objects without fields hold JSON.
}
