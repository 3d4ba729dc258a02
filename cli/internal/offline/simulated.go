package offline

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules"
	"reconcel/rules/schema"
	"reconcel/sim"
)

// Simulated returns the kinds of a cluster in memory for rules. A custom kind without a CRD
// keeps all fields.
func (k Kinds) Simulated(program *rules.Program) (*sim.Kinds, error) {
	var more []*schema.Kind
	for _, gvk := range k.Undescribed(program) {
		resource, _ := meta.UnsafeGuessKindToResource(gvk)
		more = append(more, &schema.Kind{GVK: gvk, Resource: resource.Resource, Namespaced: true, Status: true})
	}
	return sim.NewKinds(k.Set, more...)
}

// Undescribed returns the custom kinds of rules that no CRD defines.
func (k Kinds) Undescribed(program *rules.Program) (gvks []runtimeschema.GroupVersionKind) {
	for gvk := range program.UsedKinds() {
		if k.Kind(gvk) == nil && !schema.BuiltInGroup(gvk.Group) && !k.Defines(gvk.GroupKind()) {
			gvks = append(gvks, gvk)
		}
	}
	slices.SortFunc(gvks, func(a, b runtimeschema.GroupVersionKind) int { return cmp.Compare(a.String(), b.String()) })
	return gvks
}
