package source

import (
	"slices"
	"strings"
)

const preserveUnknown = "x-kubernetes-preserve-unknown-fields"

// Structural returns the schema for a CustomResourceDefinition. An older or newer version of reconcel must be able to
// read what the API server stores, so the schema keeps unknown keys and nulls at every level, and restricts
// nothing but the type of a value that can have only one.
func (s *Schema) Structural() map[string]any {
	out := map[string]any{"nullable": true}
	if doc := s.explained(); doc != "" {
		out["description"] = doc
	}
	only := s.onlyType()
	if only != "" {
		out["type"] = only
	}
	if only == "array" {
		items := s.Items
		if items == nil {
			items = &Schema{}
		}
		out["items"] = items.Structural()
	}
	if only != "" && only != "object" {
		return out
	}
	out[preserveUnknown] = true
	properties := map[string]any{}
	for _, p := range s.fields() {
		if p.Value != nil {
			properties[p.Name] = p.Value.Structural()
		}
	}
	if len(properties) > 0 {
		out["properties"] = properties
	}
	return out
}

// explained returns the description, with the types if there are several, and the meaning of each allowed string.
func (s *Schema) explained() string {
	sentences := []string{s.Doc}
	if types := s.types(); len(types) > 1 {
		sentences = append(sentences, "Its type is "+joinOr(types)+".")
	}
	for i, word := range s.Enum {
		if i < len(s.EnumDocs) {
			sentences = append(sentences, word+": "+s.EnumDocs[i])
		}
	}
	return strings.TrimSpace(strings.Join(sentences, " "))
}

// onlyType returns the type of all values but null, or "" if they can have several.
func (s *Schema) onlyType() string {
	types := s.types()
	if len(types) != 1 {
		return ""
	}
	return types[0]
}

// types returns the types that values other than null can have, or none if they can have any.
func (s *Schema) types() (all []string) {
	of := []*Schema{s}
	if len(s.Type) == 0 {
		of = s.AnyOf
	}
	for _, one := range of {
		types := []string(one.Type)
		if one != s {
			types = one.types()
		}
		if len(types) == 0 {
			return nil
		}
		all = append(all, types...)
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(name string) bool { return name == "null" })
}

// fields returns the properties of the values that are maps.
func (s *Schema) fields() Properties {
	fields := s.Properties
	if len(s.Type) > 0 {
		return fields
	}
	for _, one := range s.AnyOf {
		fields = append(slices.Clip(fields), one.fields()...)
	}
	return fields
}
