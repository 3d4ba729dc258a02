package infer

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"reconcel/rules/check"
	"reconcel/rules/crd"
	"reconcel/rules/lint"
	"reconcel/rules/schema"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
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

// maxRounds is how often the checker is asked which fields may be absent. It warns about the
// first field of a path, so each round answers for one more step.
const maxRounds = 8

// definitions returns what kinds are like. A field that the checker warns about, because it
// may be absent where it is read, becomes required.
func (in *inference) definitions(file *syntax.File,
	kinds []*primary) (all []*crd.Definition, mistakes []*source.Error, err error) {
	readAt := map[source.Pos]*field{}
	for _, p := range kinds {
		collect(p.slot, readAt, map[*slot]bool{})
	}
	for round := 0; ; round++ {
		all = nil
		var objects []map[string]any
		for _, p := range kinds {
			d := in.definition(p)
			object, err := d.Object()
			if err != nil {
				return nil, nil, err
			}
			all, objects = append(all, d), append(objects, object)
		}
		set, err := in.set.With(objects)
		if err != nil {
			return nil, nil, err
		}
		found, more := check.Check(file, set, nil), false
		for _, w := range found.Warnings {
			if f := readAt[w.Pos]; w.Check == lint.AbsentField && f != nil && !f.required {
				f.required, more = true, true
			}
		}
		if !more || round == maxRounds {
			return all, append(found.Errors, flaws(kinds, objects)...), nil
		}
	}
}

// flaws returns what is wrong in the CRDs of kinds: the schemas of rules may contradict themselves.
func flaws(kinds []*primary, crds []map[string]any) (found []*source.Error) {
	named := map[string]string{} // kinds by the names of their CRDs
	for i, p := range kinds {
		at := p.rules[0]
		for _, r := range p.rules {
			if len(r.Schema.Parts()) > 0 {
				at = r
			}
		}
		pos := at.For.Pos
		if len(at.Schema.Parts()) > 0 {
			pos = at.Schema.Pos
		}
		name, _, _ := unstructured.NestedString(crds[i], "metadata", "name")
		if other, taken := named[name]; taken {
			found = append(found, source.NewError(pos, at.Name.Value,
				fmt.Sprintf("the CRD of %s has the name %s, and so has that of %s", p.gvk.Kind, name, other),
				"give the kinds different plurals in schema.names"))
		}
		named[name] = p.gvk.Kind
		for _, f := range schema.Flaws(crds[i]) {
			found = append(found, source.NewError(pos, at.Name.Value,
				fmt.Sprintf("the CRD of %s: %s: %s", p.gvk.Kind, fieldOf(f.Path), f.Message), ""))
		}
	}
	return found
}

// fieldOf returns the path of a field, if that is what a path in a CRD is about.
func fieldOf(path string) string {
	for _, before := range []string{"spec.versions[0].schema.openAPIV3Schema.", "spec.versions[0]."} {
		if below, found := strings.CutPrefix(path, before); found {
			return strings.TrimPrefix(strings.ReplaceAll("."+below, ".properties.", "."), ".")
		}
	}
	return path
}

// collect finds the fields that are read at each position.
func collect(s *slot, readAt map[source.Pos]*field, seen map[*slot]bool) {
	if s == nil {
		return
	}
	if s = s.find(); seen[s] {
		return
	}
	seen[s] = true
	collect(s.inner, readAt, seen)
	for _, name := range slices.Sorted(maps.Keys(s.fields)) {
		f := s.fields[name].find()
		if s.schema == nil {
			for _, pos := range f.reads {
				readAt[pos] = f
			}
		}
		collect(f.slot, readAt, seen)
	}
}
