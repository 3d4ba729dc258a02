package simpleschema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Format returns the fields of an object in the compact form, and the paths of fields of
// which it cannot say everything.
func Format(s *spec.Schema) (fields map[string]any, partly []string) {
	w := &writer{}
	fields = w.object("", s)
	return fields, w.partly
}

// TypeName returns the type of a schema in the compact form: []string, or object for a map of
// fields.
func TypeName(s *spec.Schema) string {
	switch {
	case is(s, intOrString):
		return "intOrString"
	case len(s.Type) != 1:
		return "any"
	case s.Type[0] == "array" && s.Items != nil && s.Items.Schema != nil:
		return "[]" + TypeName(s.Items.Schema)
	case s.Type[0] == "object" && s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
		return "map[string]" + TypeName(s.AdditionalProperties.Schema)
	case s.Type[0] == "array":
		return "[]any"
	}
	return s.Type[0]
}

func is(s *spec.Schema, extension string) bool {
	yes, _ := s.Extensions.GetBool(extension)
	return yes
}

// A writer writes fields.
type writer struct{ partly []string }

func (w *writer) object(path string, s *spec.Schema) map[string]any {
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		required := slices.Contains(s.Required, name)
		out[name] = w.field(join(path, name), &p, required)
	}
	if len(out) > 0 && is(s, preserveUnknown) {
		out[others] = "any"
	}
	return out
}

func (w *writer) field(path string, s *spec.Schema, required bool) any {
	var back *spec.Schema
	if len(s.Properties) > 0 && !required {
		fields := w.object(path, s)
		if back, _ = Parse(fields, nil); back != nil && !sameBesides(s, back) {
			w.partly = append(w.partly, path)
		}
		return fields
	}
	text := TypeName(s)
	if m := markers(s, required); len(m) > 0 {
		text += " | " + strings.Join(m, " ")
	}
	if one, err := Parse(map[string]any{"x": text}, nil); err == nil {
		x := one.Properties["x"]
		back = &x
	}
	if back == nil || !reflect.DeepEqual(plain(s), plain(back)) {
		w.partly = append(w.partly, path)
	}
	return text
}

// sameBesides compares two schemas of objects, besides their fields.
func sameBesides(a, b *spec.Schema) bool {
	x, y := *a, *b
	x.Properties, y.Properties = nil, nil
	return reflect.DeepEqual(plain(&x), plain(&y))
}

// plain returns a schema as a decoder of JSON does.
func plain(s *spec.Schema) (out any) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil
	}
	_ = json.Unmarshal(text, &out)
	return out
}

// markers returns the markers of a schema, as far as there are any.
func markers(s *spec.Schema, required bool) (out []string) {
	add := func(name, value string) { out = append(out, name+"="+value) }
	if required {
		add("required", "true")
	}
	if s.Default != nil {
		add("default", written(s.Default))
	}
	if s.Format != "" {
		add("format", s.Format)
	}
	if len(s.Enum) > 0 {
		add("enum", written(s.Enum))
	}
	for name, f := range map[string]*float64{"minimum": s.Minimum, "maximum": s.Maximum} {
		if f != nil {
			add(name, strconv.FormatFloat(*f, 'f', -1, 64))
		}
	}
	for name, n := range map[string]*int64{"minLength": s.MinLength, "maxLength": s.MaxLength, "minItems": s.MinItems,
		"maxItems": s.MaxItems, "minProperties": s.MinProperties, "maxProperties": s.MaxProperties} {
		if n != nil {
			add(name, strconv.FormatInt(*n, 10))
		}
	}
	if s.Pattern != "" {
		add("pattern", written(s.Pattern))
	}
	if s.Nullable {
		add("nullable", "true")
	}
	if kind, _ := s.Extensions.GetString("x-kubernetes-list-type"); kind == "set" {
		add("uniqueItems", "true")
	}
	rules, _ := s.Extensions[validations].([]any)
	for _, r := range rules {
		rule, _ := r.(map[string]any)
		if rule["rule"] == immutableRule {
			add("immutable", "true")
			continue
		}
		add("validation", written(fmt.Sprint(rule["rule"])))
	}
	if s.Description != "" {
		add("description", written(s.Description))
	}
	slices.SortFunc(out, func(a, b string) int { return cmp.Or(order(a)-order(b), cmp.Compare(a, b)) })
	return out
}

// order puts required and default first, and the description last.
func order(text string) int {
	switch name, _, _ := strings.Cut(text, "="); name {
	case "required":
		return 0
	case "default":
		return 1
	case "description":
		return 3
	}
	return 2
}

// written returns a value as a marker has it.
func written(v any) string {
	if text, ok := v.(string); ok {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
	}
	text, err := json.Marshal(v)
	if err != nil {
		return "null"
	}
	return string(text)
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
