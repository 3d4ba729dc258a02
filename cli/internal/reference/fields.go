package reference

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// A field is one field of a resource, however deep.
type field struct {
	path     string // spec.workers[].name; [] is an element of a list, and <key> a key of a map
	required bool   // wherever what contains it is written
	schema   *spec.Schema
}

// fieldsOf returns the fields below a field. What is below one of skipped is left out.
func fieldsOf(path string, s *spec.Schema, skipped ...string) (all []field) {
	for _, f := range fieldsIn(path, s) {
		all = append(all, f)
		if !slices.Contains(skipped, f.path) {
			all = append(all, fieldsOf(f.path, f.schema, skipped...)...)
		}
	}
	if element, step := elementOf(s); element != nil {
		if inner, _ := elementOf(element); inner != nil {
			all = append(all, field{path: path + step, schema: element})
		}
		all = append(all, fieldsOf(path+step, element, skipped...)...)
	}
	return all
}

// fieldsIn returns the fields of an object, those that are required before the others.
func fieldsIn(path string, s *spec.Schema) (all []field) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		required := slices.Contains(s.Required, name) && p.Default == nil // A field with a default may be left out.
		all = append(all, field{path: join(path, name), required: required, schema: &p})
	}
	slices.SortStableFunc(all, func(a, b field) int { return rank(a) - rank(b) })
	return all
}

func rank(f field) int {
	if f.required {
		return 0
	}
	return 1
}

// elementOf returns the schema of the elements of a list or of the values of a map, and
// what the path of an element adds to that of the list or map.
func elementOf(s *spec.Schema) (element *spec.Schema, step string) {
	switch {
	case s.Items != nil && s.Items.Schema != nil:
		return s.Items.Schema, "[]"
	case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
		return s.AdditionalProperties.Schema, ".<key>"
	}
	return nil, ""
}

// join appends a field to a path. A name that a path cannot show is quoted.
func join(path, name string) string {
	if strings.ContainsAny(name, ".[]<>\"' ") {
		quoted, _ := json.Marshal(name) // A string can always be written.
		return path + "[" + string(quoted) + "]"
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

// typeOf names the type of a field.
func typeOf(s *spec.Schema) string { return typeIn(s, one) }

// A count says whether a name of a type is in the singular or plural.
type count int

const (
	one count = iota
	many
)

func typeIn(s *spec.Schema, n count) string {
	plural := func(singular string) string {
		if n == many {
			return singular + "s"
		}
		return singular
	}
	element, _ := elementOf(s)
	switch {
	case extension(s, "x-kubernetes-int-or-string"):
		return plural("integer") + " or " + plural("string")
	case s.Type.Contains("array") && element != nil:
		return plural("list") + " of " + typeIn(element, many)
	case s.Type.Contains("array"):
		return plural("list")
	case element != nil:
		return plural("map") + " of " + typeIn(element, many)
	case extension(s, "x-kubernetes-embedded-resource"):
		return plural("Kubernetes object")
	case s.Type.Contains("object"):
		return plural("object")
	case len(s.Type) == 0:
		return map[count]string{one: "any value", many: "any values"}[n]
	}
	name := s.Type[0]
	switch name {
	case "boolean":
		return map[count]string{one: name, many: "booleans"}[n]
	case "string":
		if s.Format != "" {
			return plural(name) + " (" + s.Format + ")"
		}
	}
	return plural(name)
}

func extension(s *spec.Schema, name string) bool {
	set, _ := s.Extensions.GetBool(name)
	return set
}

// defaultOf returns the default of a field as JSON, or nothing.
func defaultOf(s *spec.Schema) Text {
	if s.Default == nil {
		return nil
	}
	return code(literal(s.Default))
}

// literal returns a value as it is written in JSON, without escapes for HTML.
func literal(value any) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return "?"
	}
	return strings.TrimSpace(b.String())
}

// specTable lists the fields of the spec.
func specTable(fields []field) Block {
	var rows [][]Text
	for _, f := range fields {
		required := compose("no")
		if f.required {
			required = Text{{"yes", Strong}}
		}
		rows = append(rows, []Text{code(f.path), compose(typeOf(f.schema)), required, defaultOf(f.schema), limitsOf(f.schema), prose(f.schema.Description)})
	}
	return table([]string{"Field", "Type", "Required", "Default", "Allowed values", "Description"}, rows)
}

// statusTable lists the fields of the status.
func statusTable(fields []field) Block {
	var rows [][]Text
	for _, f := range fields {
		rows = append(rows, []Text{code(f.path), compose(typeOf(f.schema)), prose(f.schema.Description)})
	}
	return table([]string{"Field", "Type", "Description"}, rows)
}
