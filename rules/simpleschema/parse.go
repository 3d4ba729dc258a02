package simpleschema

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// An Error is a mistake in a field.
type Error struct {
	Path    []string // the names of the field and of those around it
	Message string
}

func (e *Error) Error() string { return strings.Join(e.Path, ".") + ": " + e.Message }

// Parse returns the schema of an object with these fields, and the paths of the fields with
// required=false, such as workers[].name: [] is an element of a list or a value of a map.
// types are custom types by name: each is a map of fields or the text of a type. Its errors
// are an Error.
func Parse(fields, types map[string]any) (object *spec.Schema, optional []string, err error) {
	r := &reader{types: types}
	object, err = r.object(nil, fields)
	return object, r.optional, err
}

// Check returns an Error if a custom type is wrong, also one that no field uses. The first
// name of its path is that of the type.
func Check(types map[string]any) error {
	r := &reader{types: types}
	for _, name := range slices.Sorted(maps.Keys(types)) {
		if _, err := r.custom([]string{name}, name); err != nil {
			return err
		}
	}
	return nil
}

func errorf(path []string, format string, args ...any) error {
	return &Error{slices.Clone(path), fmt.Sprintf(format, args...)}
}

// A reader reads fields that may refer to custom types.
type reader struct {
	types    map[string]any
	reading  []string // custom types, each within the one before it
	at       string   // the path of the field that is being read
	optional []string // paths of fields with required=false
}

// enter makes a step of the current path, and returns the way back.
func (r *reader) enter(step string) (leave func()) {
	outer := r.at
	r.at = strings.TrimPrefix(outer+step, ".")
	return func() { r.at = outer }
}

func (r *reader) object(path []string, fields map[string]any) (*spec.Schema, error) {
	out := &spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"object"},
		Properties: map[string]spec.Schema{}}}
	defaults := false
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		leave := r.enter("." + name)
		field, required, err := r.field(append(path[:len(path):len(path)], name), fields[name])
		switch {
		case err != nil:
			return nil, err
		case required == nil:
		case *required:
			out.Required = append(out.Required, name)
		default:
			r.optional = append(r.optional, r.at)
		}
		leave()
		defaults = defaults || field.Default != nil
		out.Properties[name] = *field
	}
	if defaults && len(out.Required) == 0 {
		out.Default = map[string]any{}
	}
	return out, nil
}

// field reads a field, and whether it is required: nil if it does not say so.
func (r *reader) field(path []string, value any) (field *spec.Schema, required *bool, err error) {
	switch value := value.(type) {
	case map[string]any:
		field, err = r.object(path, value)
		return field, nil, err
	case string:
		name, text := splitMarkers(value)
		if field, err = r.typed(path, name); err != nil {
			return nil, nil, err
		}
		marked, err := readMarkers(text)
		if err != nil {
			return nil, nil, errorf(path, "%v", err)
		}
		for _, m := range marked {
			if m.name == "required" {
				required = new(bool)
				*required, err = m.boolean()
			} else {
				err = setMarker[m.name](m, field)
			}
			if err != nil {
				return nil, nil, errorf(path, "%s: %v", m.name, err)
			}
		}
		return field, required, nil
	}
	return nil, nil, errorf(path, "write a type such as string, or a map of fields")
}

// scalars are the types without parameters.
var scalars = map[string]spec.Schema{
	"string":      typeSchema("string"),
	"integer":     typeSchema("integer"),
	"number":      typeSchema("number"),
	"float":       typeSchema("number"),
	"boolean":     typeSchema("boolean"),
	"object":      extended(typeSchema("object"), preserveUnknown),
	"any":         extended(spec.Schema{}, preserveUnknown),
	"intOrString": extended(spec.Schema{}, intOrString),
}

const (
	preserveUnknown = "x-kubernetes-preserve-unknown-fields"
	intOrString     = "x-kubernetes-int-or-string"
)

func typeSchema(name string) spec.Schema {
	return spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{name}}}
}

func extended(s spec.Schema, extension string) spec.Schema {
	s.AddExtension(extension, true)
	return s
}

// typed reads a type.
func (r *reader) typed(path []string, name string) (*spec.Schema, error) {
	name = strings.TrimSpace(name)
	if rest, isList := strings.CutPrefix(name, "[]"); isList {
		defer r.enter("[]")()
		item, err := r.typed(path, rest)
		if err != nil {
			return nil, err
		}
		return spec.ArrayProperty(item), nil
	}
	if rest, isMap := strings.CutPrefix(name, "map["); isMap {
		key, value, closed := strings.Cut(rest, "]")
		if !closed || strings.TrimSpace(key) != "string" {
			return nil, errorf(path, "%q: the keys of a map are strings: write map[string]TYPE", name)
		}
		defer r.enter("[]")()
		values, err := r.typed(path, value)
		if err != nil {
			return nil, err
		}
		return spec.MapProperty(values), nil
	}
	if s, ok := scalars[name]; ok {
		s.Extensions = maps.Clone(s.Extensions)
		return &s, nil
	}
	if _, ok := r.types[name]; ok {
		return r.custom(path, name)
	}
	names := slices.Sorted(maps.Keys(scalars))
	return nil, errorf(path, "unknown type %q: write []TYPE, map[string]TYPE, %s", name,
		strings.Join(append(names, slices.Sorted(maps.Keys(r.types))...), ", "))
}

func (r *reader) custom(path []string, name string) (*spec.Schema, error) {
	if slices.Contains(r.reading, name) {
		return nil, errorf(path, "the type %s contains itself", name)
	}
	r.reading = append(r.reading, name)
	defer func() { r.reading = r.reading[:len(r.reading)-1] }()
	field, required, err := r.field(path, r.types[name])
	if err == nil && required != nil {
		err = errorf(path, "required belongs to a field, not to the type %s", name)
	}
	return field, err
}
