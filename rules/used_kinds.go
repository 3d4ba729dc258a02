package rules

import (
	"maps"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// UsedKinds returns the kinds of the primaries, children and lookups.
func (p *Program) UsedKinds() map[schema.GroupVersionKind]bool {
	used := map[schema.GroupVersionKind]bool{}
	for _, primary := range p.primaries {
		maps.Copy(used, primary.UsedKinds())
	}
	return used
}

// UsedKinds returns the kinds of the primaries, children and lookups of the rules.
func (p *Primary) UsedKinds() map[schema.GroupVersionKind]bool {
	used := map[schema.GroupVersionKind]bool{p.GVK: true}
	for _, rule := range p.Rules {
		for _, child := range rule.Children {
			used[child.GVK] = true
		}
		for _, lookup := range rule.Lookups {
			used[lookup.GVK] = true
		}
	}
	return used
}
