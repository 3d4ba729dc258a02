package reference

import (
	"fmt"
	"strconv"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"reconcel/cli/internal/output"
	"reconcel/rules/schema"
)

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
