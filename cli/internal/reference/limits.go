package reference

import (
	"fmt"
	"strconv"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"reconcel/cli/internal/output"
	"reconcel/rules/schema"
)

// limitsOf says which values of a field the API server accepts.
func limitsOf(s *spec.Schema) Text {
	return sentence(limits(s))
}

// sentence joins what holds at the same time.
func sentence(parts []Text) (all Text) {
	for i, part := range parts {
		if i > 0 {
			all = compose(all, "; ")
		}
		all = append(all, part...)
	}
	return all
}

func limits(s *spec.Schema) (all []Text) {
	add := func(parts ...any) { all = append(all, compose(parts...)) }
	switch len(s.Enum) {
	case 0:
	case 1:
		add(code(literal(s.Enum[0])))
	default:
		add("one of ", enumOf(s.Enum))
	}
	if t := rangeOf(s); t != nil {
		all = append(all, t)
	}
	if s.MultipleOf != nil {
		add("a multiple of ", code(number(*s.MultipleOf)))
	}
	if t := sizeOf(s.MinLength, s.MaxLength, "character"); t != "" {
		add(t)
	}
	if s.Pattern != "" {
		add("matches ", code(s.Pattern))
	}
	if t := sizeOf(s.MinItems, s.MaxItems, "element"); t != "" {
		add(t)
	}
	all = append(all, distinctness(s)...)
	if t := sizeOf(s.MinProperties, s.MaxProperties, "key"); t != "" {
		add(t)
	}
	if s.Nullable {
		add("may be ", code("null"))
	}
	if extension(s, "x-kubernetes-preserve-unknown-fields") {
		add("may have any fields")
	}
	all = append(all, combinations(s)...)
	if element, _ := elementOf(s); element != nil && len(element.Properties) == 0 {
		if of := limits(element); len(of) > 0 {
			add("each: ", sentence(of))
		}
	}
	return all
}

func enumOf(values []any) Text {
	var all []Text
	for _, v := range values {
		all = append(all, code(literal(v)))
	}
	return enumerate("or", all)
}

// distinctness says which elements of a list must differ.
func distinctness(s *spec.Schema) []Text {
	kind, keys := schema.MergedBy(s)
	switch {
	case s.UniqueItems || kind == "set":
		return []Text{compose("no element twice")}
	case kind == "map" && len(keys) > 0:
		var names []Text
		for _, k := range keys {
			names = append(names, code(k))
		}
		return []Text{compose("one element for each ", enumerate("and", names))}
	}
	return nil
}

// rangeOf says what the minimum and maximum are.
func rangeOf(s *spec.Schema) Text {
	low, high := lowest(s), highest(s)
	switch {
	case low == nil:
		return high
	case high == nil:
		return low
	case s.ExclusiveMinimum || s.ExclusiveMaximum:
		return compose(low, ", ", high)
	}
	return compose(code(number(*s.Minimum)), " to ", code(number(*s.Maximum)))
}

func lowest(s *spec.Schema) Text {
	switch {
	case s.Minimum == nil:
		return nil
	case s.ExclusiveMinimum:
		return compose("more than ", code(number(*s.Minimum)))
	}
	return compose("at least ", code(number(*s.Minimum)))
}

func highest(s *spec.Schema) Text {
	switch {
	case s.Maximum == nil:
		return nil
	case s.ExclusiveMaximum:
		return compose("less than ", code(number(*s.Maximum)))
	}
	return compose("at most ", code(number(*s.Maximum)))
}

func number(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// sizeOf says how many characters, elements or keys there may be.
func sizeOf(low, high *int64, of string) string {
	least := int64(0)
	if low != nil {
		least = *low
	}
	switch {
	case high != nil && *high == least:
		return output.Plural(int(least), of)
	case high != nil && least > 0:
		return fmt.Sprintf("%d to %s", least, output.Plural(int(*high), of))
	case high != nil:
		return "at most " + output.Plural(int(*high), of)
	case least == 1:
		return "not empty"
	case least > 0:
		return "at least " + output.Plural(int(least), of)
	}
	return ""
}

// combinations says which forms a value may have, and which of its fields go together.
func combinations(s *spec.Schema) (all []Text) {
	if extension(s, "x-kubernetes-int-or-string") {
		return nil // Its anyOf repeats the two types.
	}
	add := func(how string, forms []spec.Schema) {
		if len(forms) == 0 {
			return
		}
		var texts []Text
		for i := range forms {
			texts = append(texts, formOf(&forms[i]))
		}
		all = append(all, compose(how, enumerate("or", texts)))
	}
	add("exactly one of: ", s.OneOf)
	add("at least one of: ", s.AnyOf)
	for i := range s.AllOf {
		all = append(all, formOf(&s.AllOf[i]))
	}
	if s.Not != nil {
		all = append(all, compose("not: ", formOf(s.Not)))
	}
	return all
}

// formOf says what one form of a value requires.
func formOf(s *spec.Schema) Text {
	var parts []Text
	for _, name := range s.Required {
		parts = append(parts, compose(code(name), " is set"))
	}
	parts = append(parts, limits(s)...)
	if len(parts) == 0 || len(s.Properties) > 0 {
		return code(literal(s))
	}
	return enumerate("and", parts)
}
