package cli

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules"
)

// precheckTimeout is how long the start or a reload may wait for what the cluster
// says of its kinds.
const precheckTimeout = 15 * time.Second

// mentioned returns the groups and versions of all kinds that rules mention.
func mentioned(program *rules.Program) []schema.GroupVersion {
	var all []schema.GroupVersion
	for _, primary := range program.Primaries() {
		all = append(all, primary.GVK.GroupVersion())
		for _, rule := range primary.Rules {
			for _, c := range rule.Children {
				all = append(all, c.GVK.GroupVersion())
			}
			for _, l := range rule.Lookups {
				all = append(all, l.GVK.GroupVersion())
			}
		}
	}
	slices.SortFunc(all, func(a, b schema.GroupVersion) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(all)
}
