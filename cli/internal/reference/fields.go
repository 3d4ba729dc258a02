package reference

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"reconcel/cli/internal/output"
	"reconcel/rules/schema"
	"reconcel/rules/simpleschema"
)

// A Field is one field of a resource, however deep.
type Field struct {
	Path, Type  Code
	Default     Markdown // or that it is required
	Limits      Markdown
	Description Markdown
}

// A Check is a condition for a resource.
type Check struct {
	Field   Code // "": the resource
	Rule    Markdown
	Reason  Code // "": of the API server
	Message Markdown
	rule    string // as it is in the schema; "": of the rules
}

// describe adds the fields in a schema, and what the API server checks.
func (p *Page) describe(root *spec.Schema) {
	p.Description = prose(root.Description)
	p.addChecks("", root)
	walk("", root, func(path string, s *spec.Schema, required bool) bool {
		element, _ := elementOf(s)
		field := Field{Code(path), Code(simpleschema.TypeName(s)), "", limitsOf(s), prose(s.Description)}
		switch {
		case s.Default != nil:
			field.Default = code(literal(s.Default))
		case required:
			field.Default = "**required**"
		}
		switch {
		case slices.Contains([]string{"apiVersion", "kind", "metadata"}, path):
			return false
		case element == nil && (strings.HasSuffix(path, "[]") ||
			strings.HasSuffix(path, ".<key>")): // Its list or map says all.
		case path == "spec" && s.Default == nil && len(s.Properties) > 0, path == "status":
		case strings.HasPrefix(path, "status.") || strings.HasPrefix(path, "status["):
			p.Status = append(p.Status, field)
		default:
			p.Fields = append(p.Fields, field)
		}
		p.addChecks(path, s)
		return path != "status.conditions"
	})
}

// walk visits the fields below a field, however deep, until visit returns false. Required ones
// are first. path[] is an element of a list, and path.<key> a value of a map.
func walk(path string, s *spec.Schema, visit func(path string, s *spec.Schema, required bool) (deeper bool)) {
	rank := map[bool]int{true: 0, false: 1}
	names := slices.SortedFunc(maps.Keys(s.Properties), func(a, b string) int {
		return cmp.Or(rank[isRequired(s, a)]-rank[isRequired(s, b)], strings.Compare(a, b))
	})
	for _, name := range names {
		field := s.Properties[name]
		if at := join(path, name); visit(at, &field, isRequired(s, name)) {
			walk(at, &field, visit)
		}
	}
	if element, step := elementOf(s); element != nil && visit(path+step, element, false) {
		walk(path+step, element, visit)
	}
}

// isRequired reports whether a field must be written wherever what contains it is. A field
// with a default may be left out.
func isRequired(s *spec.Schema, name string) bool {
	return slices.Contains(s.Required, name) && s.Properties[name].Default == nil
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
	switch {
	case strings.ContainsAny(name, ".[]<>\"' "):
		return path + "[" + literal(name) + "]"
	case path == "":
		return name
	}
	return path + "." + name
}

// addChecks adds the validations of a field.
func (p *Page) addChecks(path string, s *spec.Schema) {
	checks, _ := s.Extensions["x-kubernetes-validations"].([]any)
	for _, item := range checks {
		check, _ := item.(map[string]any)
		rule, _ := check["rule"].(string)
		message, _ := check["message"].(string)
		p.Accepted = append(p.Accepted, Check{Field: Code(path), Rule: code(rule),
			Message: formatf("%v", Text(message)), rule: rule})
	}
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

// limitsOf says which values of a field the API server accepts.
func limitsOf(s *spec.Schema) (all Markdown) {
	add := func(format string, args ...any) {
		if all != "" {
			all += "; "
		}
		all += formatf(format, args...)
	}
	if len(s.Enum) > 0 {
		var values []Code
		for _, v := range s.Enum {
			values = append(values, Code(literal(v)))
		}
		add("one of %v", enumerate("or", values))
	}
	if s.Type.Contains("string") && s.Format != "" {
		add("format %v", Code(s.Format))
	}
	if s.Minimum != nil && s.Maximum != nil && !s.ExclusiveMinimum && !s.ExclusiveMaximum {
		add("%v to %v", number(*s.Minimum), number(*s.Maximum))
	} else {
		if s.Minimum != nil {
			add("%s %v", map[bool]string{false: "at least", true: "more than"}[s.ExclusiveMinimum], number(*s.Minimum))
		}
		if s.Maximum != nil {
			add("%s %v", map[bool]string{false: "at most", true: "less than"}[s.ExclusiveMaximum], number(*s.Maximum))
		}
	}
	if s.MultipleOf != nil {
		add("a multiple of %v", number(*s.MultipleOf))
	}
	for _, size := range []string{
		sizeOf(s.MinLength, s.MaxLength, "character"), sizeOf(s.MinItems, s.MaxItems, "element"),
		sizeOf(s.MinProperties, s.MaxProperties, "key"),
	} {
		if size != "" {
			add("%s", size)
		}
	}
	if s.Pattern != "" {
		add("matches %v", Code(s.Pattern))
	}
	switch how, keys := schema.MergedBy(s); {
	case s.UniqueItems || how == "set":
		add("no element twice")
	case how == "map" && len(keys) > 0:
		add("one element for each %v", enumerate("and", codes(keys)))
	}
	if s.Nullable {
		add("may be `null`")
	}
	if extension(s, "x-kubernetes-preserve-unknown-fields") {
		add("may have any fields")
	}
	forms := spec.Schema{SchemaProps: spec.SchemaProps{OneOf: s.OneOf, AnyOf: s.AnyOf, AllOf: s.AllOf, Not: s.Not}}
	// Its anyOf repeats the two types.
	if text := literal(forms); text != "{}" && !extension(s, "x-kubernetes-int-or-string") {
		add("fits %v", Code(text))
	}
	if element, _ := elementOf(s); element != nil && len(element.Properties) == 0 {
		if of := limitsOf(element); of != "" {
			add("each: %v", of)
		}
	}
	return all
}

func extension(s *spec.Schema, name string) bool {
	set, _ := s.Extensions.GetBool(name)
	return set
}

func number(n float64) Code { return Code(strconv.FormatFloat(n, 'f', -1, 64)) }

// sizeOf says how many characters, elements or keys there may be.
func sizeOf(low, high *int64, of string) string {
	switch {
	case low == nil && high == nil:
		return ""
	case high == nil:
		return "at least " + output.Plural(int(*low), of)
	case low == nil || *low == 0 && *high > 0:
		return "at most " + output.Plural(int(*high), of)
	case *low == *high:
		return output.Plural(int(*low), of)
	}
	return fmt.Sprintf("%d to %s", *low, output.Plural(int(*high), of))
}
