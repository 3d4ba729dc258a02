package discover

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A ConditionList is the list type of a kind's status.conditions.
type ConditionList int

// The list types that need different writes.
const (
	NoConditions     ConditionList = iota // the schema has none, or the kind is built in
	KeyedConditions                       // x-kubernetes-list-type: map; each condition has its own owner
	AtomicConditions                      // one list, which every writer has to merge
)

// ConditionsOf returns the list type of conditions with these values of
// x-kubernetes-list-type and x-kubernetes-list-map-keys.
func ConditionsOf(listType string, mapKeys []string) ConditionList {
	if listType == "map" && len(mapKeys) == 1 && mapKeys[0] == "type" {
		return KeyedConditions
	}
	return AtomicConditions
}

// openAPI has the fields of an OpenAPI v3 document that parseConditions reads.
type openAPI struct {
	Components struct {
		Schemas map[string]struct {
			Kinds      []schema.GroupVersionKind `json:"x-kubernetes-group-version-kind"`
			Properties map[string]struct {
				Properties map[string]struct {
					ListType string   `json:"x-kubernetes-list-type"`
					MapKeys  []string `json:"x-kubernetes-list-map-keys"`
				} `json:"properties"`
			} `json:"properties"`
		} `json:"schemas"`
	} `json:"components"`
}

func parseConditions(raw []byte, gvk schema.GroupVersionKind) (ConditionList, error) {
	var doc openAPI
	if err := json.Unmarshal(raw, &doc); err != nil {
		return NoConditions, fmt.Errorf("parse OpenAPI of %s: %w", gvk.GroupVersion(), err)
	}
	for _, s := range doc.Components.Schemas {
		if len(s.Kinds) != 1 || s.Kinds[0] != gvk {
			continue
		}
		conditions, ok := s.Properties["status"].Properties["conditions"]
		if !ok {
			return NoConditions, nil
		}
		return ConditionsOf(conditions.ListType, conditions.MapKeys), nil
	}
	return NoConditions, NoKindError{GVK: gvk}
}
