package offline

import (
	"reconcel/cli/internal/files"
	"reconcel/rules"
)

// bundles returns the rules for the cluster as resources without objects.
func (r *Renderer) bundles() (all []*resource) {
	for _, p := range r.program.Primaries() {
		if !p.ForCluster() {
			continue
		}
		for _, rule := range p.Rules {
			u := rules.NewBundle(rules.BundleOwner("", "", rule.Name), rule.Name)
			self := &files.Object{Unstructured: *u, File: rule.Pos.File}
			all = append(all, &resource{report: report{about: "cluster"}, self: self, primary: p})
		}
	}
	return all
}
