package reference

import (
	"fmt"

	"reconcel/rules/source"
)

// own says where the rule writes into the resource itself, besides its status.
func (v *ruleView) own() Text {
	if v.src.Patch == nil {
		return nil
	}
	var all []Text
	for _, path := range leaves("", v.src.Patch) {
		all = append(all, code(path))
	}
	return compose(fmt.Sprintf("reconcel sets these fields of the %s itself: ", v.kind), enumerate("and", all), ".")
}

// leaves returns the paths of what a map of the rules contains.
func leaves(path string, n *source.Node) (all []string) {
	if n.Kind != source.Map || len(n.Fields) == 0 {
		return []string{path}
	}
	for _, f := range n.Fields {
		all = append(all, leaves(join(path, f.Key.Value), f.Value)...)
	}
	return all
}
