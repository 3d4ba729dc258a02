package expr

import "reconcel/rules/projection"

// A Dependence is what a part of the result of an expression can depend on, in any
// evaluation.
type Dependence map[string]*projection.Builder

// DependenceOf returns what the part of the result at a path can depend on: on its value, on
// the number of its elements, or on its presence.
func (p *Program) DependenceOf(path []any, use Use) Dependence {
	all := Dependence{}
	o := p.Trace(func(variable string) *Origin {
		if all[variable] == nil {
			all[variable] = &projection.Builder{}
		}
		return ObjectOrigin(all[variable])
	})
	for _, step := range path {
		if key, isKey := step.(string); isKey {
			o = o.field(key)
		} else {
			o = o.Any()
		}
	}
	switch use {
	case UsedValue:
		o.Keep()
	case UsedExtent:
		o.Any()
	}
	return all
}

// On reports whether it includes a part of a variable.
func (d Dependence) On(variable string, path []any) bool {
	if d[variable] == nil {
		return false
	}
	kept := d[variable].Projection()
	for _, step := range path {
		if key, isKey := step.(string); isKey {
			kept = kept.Field(key)
		} else {
			kept = kept.Elements()
		}
	}
	return kept != nil
}
