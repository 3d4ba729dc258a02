package rules

import "k8s.io/apimachinery/pkg/runtime/schema"

// UsedKinds returns the kinds of the primaries, children and lookups.
func (p *Program) UsedKinds() map[schema.GroupVersionKind]bool {
	used := map[schema.GroupVersionKind]bool{}
	for _, primary := range p.primaries {
		used[primary.GVK] = true
		for _, rule := range primary.Rules {
			for _, child := range rule.Children {
				used[child.GVK] = true
			}
			for _, lookup := range rule.Lookups {
				used[lookup.GVK] = true
			}
		}
	}
	return used
}
