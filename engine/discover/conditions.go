package discover

import (
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

// conditionsOf returns the list type by the schema of status.conditions, which is
// nil if a kind has none.
func conditionsOf(conditions *spec.Schema) ConditionList {
	if conditions == nil {
		return NoConditions
	}
	if kindschema.HasOwners(conditions) {
		return KeyedConditions
	}
	return AtomicConditions
}
