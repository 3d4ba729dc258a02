package discover

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"reconcel/engine/managedfields"
	kindschema "reconcel/rules/schema"
)

// An Ownership says how the API server records owners in the objects of a custom kind.
type Ownership struct {
	Conditions ConditionList
	// ConditionFields are the fields that a condition can have; nil: any. An apply with others would be rejected.
	ConditionFields []string
	// Granular is what an object has besides its metadata; nil if that is not known.
	Granular *managedfields.Granular
}

// OwnershipOf returns the ownership of a kind by its schema.
func OwnershipOf(set *kindschema.Set, gvk schema.GroupVersionKind) Ownership {
	conditions := set.Conditions(gvk)
	o := Ownership{Conditions: conditionsOf(conditions), ConditionFields: set.ConditionFields(conditions),
		Granular: granularIn(set, set.Schema(gvk), nil)}
	if o.Granular != nil {
		delete(o.Granular.Fields, "metadata") // It has the API server's own type.
	}
	return o
}

func ownershipIn(document []byte, gvk schema.GroupVersionKind) (Ownership, error) {
	set, err := kindschema.New(kindschema.Sources{OpenAPI: [][]byte{document}})
	if err != nil {
		return Ownership{}, err
	}
	if set.Kind(gvk) == nil {
		return Ownership{}, NoKindError{GVK: gvk}
	}
	return OwnershipOf(set, gvk), nil
}

// granularIn returns the maps and lists in what a schema describes, or nil if that is atomic or a scalar. Inside a
// definition that contains itself, nothing is known.
func granularIn(set *kindschema.Set, s *spec.Schema, definitions []string) *managedfields.Granular {
	if name := kindschema.Reference(s); name != "" {
		if slices.Contains(definitions, name) {
			return nil
		}
		definitions = append(definitions[:len(definitions):len(definitions)], name)
	}
	beside := s // A schema may say how its own reference is merged.
	if s = set.Resolve(s); s == nil {
		return nil
	}
	switch {
	case s.Items != nil && s.Items.Schema != nil:
		merged, _ := kindschema.MergedBy(beside)
		if merged == "" {
			merged, _ = kindschema.MergedBy(s)
		}
		if merged != "map" && merged != "set" {
			return nil
		}
		return &managedfields.Granular{Each: granularIn(set, s.Items.Schema, definitions)}
	case set.IsAtomicMap(beside):
		return nil
	case len(s.Properties) > 0:
		g := &managedfields.Granular{}
		for name, field := range s.Properties {
			inside := granularIn(set, &field, definitions)
			if inside == nil {
				continue
			}
			if g.Fields == nil {
				g.Fields = map[string]*managedfields.Granular{}
			}
			g.Fields[name] = inside
		}
		return g
	case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
		return &managedfields.Granular{Each: granularIn(set, s.AdditionalProperties.Schema, definitions)}
	}
	return nil
}
