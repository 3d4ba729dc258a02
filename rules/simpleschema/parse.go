package simpleschema

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"reconcel/rules/schema"
)

// An Error is a mistake in a field.
type Error struct {
	Path    []string // the names of the field and of those around it
	Message string
}

func (e *Error) Error() string { return strings.Join(e.Path, ".") + ": " + e.Message }

// Limits of what an object can have.
const (
	MaxFields  = 10_000 // with those of its types
	maxDepth   = 64     // of fields, elements and values in each other
	maxMarkers = 100    // of a field
)

// Parse returns the schema of an object with these fields. types are custom types by name:
// each is a map of fields or the text of a type. Its errors are an Error. Parts of the schema
// are shared: do not change them.
func Parse(fields, types map[string]any) (*spec.Schema, error) {
	return newReader(types).object(nil, fields)
}

// Check returns an Error if a custom type is wrong, also one that no field uses. The first
// name of its path is that of the type.
func Check(types map[string]any) error {
	r := newReader(types)
	for _, name := range slices.Sorted(maps.Keys(types)) {
		r.fields = 0
		if _, err := r.custom([]string{name}, name); err != nil {
			return err
		}
	}
	return nil
}

// Optional returns the paths of the fields with required=false, such as workers[].name: [] is
// an element of a list or a value of a map. Parse accepts the fields.
func Optional(fields, types map[string]any) []string {
	r := newReader(types)
	r.made = nil // Each use of a type has its own paths.
	_, _ = r.object(nil, fields)
	return r.optional
}

func errorf(path []string, format string, args ...any) error {
	return &Error{slices.Clone(path), fmt.Sprintf(format, args...)}
}

// A reader reads fields that may refer to custom types.
type reader struct {
	types    map[string]any
	made     map[string]counted // custom types that were read; nil: each use is read again
	reading  []string           // custom types, each within the one before it
	fields   int                // that were read, with those of types
	depth    int
	at       string   // the path of the field that is being read
	optional []string // paths of fields with required=false
}

// A counted schema has been read, and can be used again.
type counted struct {
	schema *spec.Schema
	fields int
}

func newReader(types map[string]any) *reader {
	return &reader{types: types, made: map[string]counted{}}
}

// use counts the fields of a type, and returns a copy that can have markers.
func (r *reader) use(path []string, m counted) (*spec.Schema, error) {
	s := *m.schema
	s.Extensions = maps.Clone(s.Extensions)
	return &s, r.count(path, m.fields)
}

func (r *reader) count(path []string, fields int) error {
	if r.fields += fields; r.fields > MaxFields {
		return errorf(path, "there are more than %d fields, with those of the types", MaxFields)
	}
	return nil
}

// enter makes a step of the current path, and returns the way back.
func (r *reader) enter(step string) (leave func()) {
	outer := r.at
	r.at = strings.TrimPrefix(outer+step, ".")
	r.depth++
	return func() { r.at, r.depth = outer, r.depth-1 }
}

func (r *reader) object(path []string, fields map[string]any) (*spec.Schema, error) {
	out := &spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"object"},
		Properties: map[string]spec.Schema{}}}
	if err := r.count(path, len(fields)); err != nil {
		return nil, err
	}
	defaults := false
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if name == others {
			if fields[name] != "any" {
				return nil, errorf(append(path[:len(path):len(path)], name), "other fields have any type: write %q: any", others)
			}
			out.AddExtension(preserveUnknown, true)
			continue
		}
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

// others stands for the fields of an object that are not listed.
const others = "*"

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
	if r.depth+len(r.reading) > maxDepth {
		return nil, errorf(path, "it has more than %d levels", maxDepth)
	}
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
		return r.use(path, counted{schema: &s})
	}
	if _, ok := r.types[name]; ok {
		return r.custom(path, name)
	}
	if s := schema.Type(name); s != nil {
		return r.use(path, counted{s, schema.CountFields(s)})
	}
	names := slices.Sorted(maps.Keys(scalars))
	return nil, errorf(path, "unknown type %q: write []TYPE, map[string]TYPE, %s, or a type of Kubernetes such as "+
		"v1/PodTemplateSpec", name, strings.Join(append(names, slices.Sorted(maps.Keys(r.types))...), ", "))
}

func (r *reader) custom(path []string, name string) (*spec.Schema, error) {
	if m, before := r.made[name]; before {
		return r.use(path, m)
	}
	if slices.Contains(r.reading, name) {
		return nil, errorf(path, "the type %s contains itself", name)
	}
	r.reading = append(r.reading, name)
	defer func() { r.reading = r.reading[:len(r.reading)-1] }()
	before := r.fields
	field, required, err := r.field(path, r.types[name])
	switch {
	case err != nil:
		return nil, err
	case required != nil:
		return nil, errorf(path, "required belongs to a field, not to the type %s", name)
	}
	m := counted{field, r.fields - before}
	if r.made != nil {
		r.made[name] = m
	}
	return r.use(path, counted{schema: field})
}
