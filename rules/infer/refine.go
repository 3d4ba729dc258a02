package infer

import (
	"maps"
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// refine returns a schema with what a rule says about it, which takes precedence.
func (e *emitter) refine(path string, inferred, said *spec.Schema) *spec.Schema {
	if said == nil {
		return inferred
	}
	delete(e.comments, path)
	if inferred == nil {
		return said
	}
	out := *said
	if out.Description == "" {
		out.Description = inferred.Description
	}
	if !slices.Equal(out.Type, inferred.Type) {
		return &out
	}
	if out.Format == "" && out.Pattern == "" {
		out.Format = inferred.Format
	}
	switch {
	case len(said.Properties) > 0 && len(inferred.Properties) > 0:
		e.refineFields(path, &out, inferred)
	case said.Items != nil && inferred.Items != nil:
		out.Items = &spec.SchemaOrArray{Schema: e.refine(path+"[]", inferred.Items.Schema, said.Items.Schema)}
	case said.AdditionalProperties != nil && inferred.AdditionalProperties != nil:
		out.AdditionalProperties = &spec.SchemaOrBool{Allows: true,
			Schema: e.refine(path+"[]", inferred.AdditionalProperties.Schema, said.AdditionalProperties.Schema)}
	}
	return &out
}

// refineFields refines the fields of an object. An object is a default only if rules read it
// without a guard: otherwise they may ask whether it is there.
func (e *emitter) refineFields(path string, out, inferred *spec.Schema) {
	said := out.Properties
	out.Default, out.Properties = inferred.Default, map[string]spec.Schema{}
	required := append(slices.Clone(out.Required), inferred.Required...)
	required = slices.DeleteFunc(required, func(name string) bool {
		return slices.Contains(e.optional,
			below(path, name))
	})
	var kept []string
	maps.Copy(out.Properties, inferred.Properties)
	for name, p := range said {
		refined := &p
		if before, known := inferred.Properties[name]; known {
			refined = e.refine(below(path, name), &before, &p)
		}
		out.Properties[name] = *refined
	}
	slices.Sort(required)
	for _, name := range slices.Compact(required) {
		p := out.Properties[name]
		if !slices.Contains(out.Required, name) {
			fill(&p)
			out.Properties[name] = p
		}
		if p.Default == nil {
			kept = append(kept, name)
		}
	}
	out.Required = kept
}

// fill makes {} the default of an object that has to be there, if all that is required in it
// has a default.
func fill(s *spec.Schema) {
	if s.Default != nil || len(s.Required) > 0 {
		return
	}
	for _, p := range s.Properties {
		if p.Default != nil {
			s.Default = map[string]any{}
		}
	}
}
