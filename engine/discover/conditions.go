package discover

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	kindschema "reconcel/rules/schema"
)

// A ConditionList is the list type of a kind's status.conditions.
type ConditionList int

// The list types that need different writes.
const (
	NoConditions     ConditionList = iota // the schema has none, or the kind is built in
	KeyedConditions                       // x-kubernetes-list-type: map; each condition has its own owner
	AtomicConditions                      // one list, which every writer has to merge
)

// ConditionsOf returns the list type by the schema of status.conditions, which is
// nil if a kind has none.
func ConditionsOf(conditions *spec.Schema) ConditionList {
	if conditions == nil {
		return NoConditions
	}
	if kindschema.HasOwners(conditions) {
		return KeyedConditions
	}
	return AtomicConditions
}

func conditionsIn(document []byte, gvk schema.GroupVersionKind) (ConditionList, error) {
	set, err := kindschema.New(kindschema.Sources{OpenAPI: [][]byte{document}})
	if err != nil {
		return NoConditions, err
	}
	if set.Kind(gvk) == nil {
		return NoConditions, NoKindError{GVK: gvk}
	}
	return ConditionsOf(set.Conditions(gvk)), nil
}
