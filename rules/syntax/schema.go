package syntax

import (
	"errors"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"reconcel/rules/simpleschema"
	"reconcel/rules/source"
)

// fieldTypes are fields with their types.
var fieldTypes = &source.Schema{Type: source.Types{"object", "null"},
	Others: &source.Schema{Type: source.Types{"string", "object"}}}

// topFields are the fields of objects that have their own keys or that every kind has.
var topFields = []string{"apiVersion", "kind", "metadata", "spec", "status"}

// topFieldTypes are fields of an object with their types.
var topFieldTypes = &source.Schema{Type: fieldTypes.Type, Names: &source.Schema{Not: &source.Schema{Enum: topFields}},
	Others: fieldTypes.Others}

var schemaShape = source.Shape{
	Doc: "The schema of the kind, as far as its use in the rule does not tell. A field is a type, such as `string`, " +
		"`[]string` or `map[string]integer`, " +
		"with markers after `|`: `integer | default=1 minimum=0`. Or it is a map of fields.",
	Keys: []source.Key{
		{Name: "spec", Value: fieldTypes, Doc: "Fields of the spec. Each is a map of fields, in which `\"*\": any` keeps all " +
			"others, or a type: `string`, `integer`, `number`, `boolean`, `object`, `any`, `intOrString`, a name of `types`, " +
			"a type of Kubernetes such as `v1/PodTemplateSpec`, or `[]TYPE` or `map[string]TYPE` of these. Markers follow " +
			"after `|`: `string | required=true description=\"What to run\"`."},
		{Name: "status", Value: fieldTypes, Doc: "Fields of the status, without conditions."},
		{Name: "fields", Value: topFieldTypes, Doc: "Fields of the objects beside spec and status, such as `data`."},
		{Name: "types", Value: fieldTypes, Doc: "Types that all these fields can name."},
		{Name: "names", Value: orNothing(namesShape.Schema()), Doc: namesShape.Doc},
		{Name: "scale", Value: orNothing(scaleShape.Schema()), Doc: scaleShape.Doc},
	},
	Wrong: map[string]source.WrongKey{
		"apiVersion": {Hint: "write it into for"},
		"kind":       {Hint: "write it into for"},
		"group":      {Hint: "write it into apiVersion of for"},
		"data":       {Hint: "write it into fields"},
		"plural":     {Hint: "write it into names"},
		"shortNames": {Hint: "write it into names"},
	},
}

// FieldSchemas are what a rule says about the fields of its kind. Its parts are nil unless they
// are written.
type FieldSchemas struct {
	Pos          source.Pos
	Spec, Status *spec.Schema
	Fields       *spec.Schema // of objects, besides spec and status
	// Names and Scale are spec.names and subresources.scale of the CRD.
	Names, Scale map[string]any
	written      map[string]map[string]any // the fields of spec, status and fields, and types
}

// Optional returns the paths of fields with required=false, such as spec.workers[].name.
func (s *FieldSchemas) Optional() (paths []string) {
	for key, prefix := range map[string]string{"spec": "spec.", "status": "status.", "fields": ""} {
		for _, path := range simpleschema.Optional(s.written[key], s.written["types"]) {
			paths = append(paths, prefix+path)
		}
	}
	return paths
}

// Parts returns the parts that are written, besides types.
func (s *FieldSchemas) Parts() (parts []string) {
	if s.Spec != nil {
		parts = append(parts, "spec")
	}
	if s.Status != nil {
		parts = append(parts, "status")
	}
	if s.Fields != nil {
		parts = append(parts, "fields")
	}
	if s.Names != nil {
		parts = append(parts, "names")
	}
	if s.Scale != nil {
		parts = append(parts, "scale")
	}
	return parts
}

func readSchema(v source.Value) (s FieldSchemas) {
	if v.Missing() || v.IsNull() {
		return s
	}
	s.Pos, s.written = v.Pos(), map[string]map[string]any{}
	t := v.Table(&schemaShape)
	s.Names, s.Scale = readResourceNames(t.Key("names")), readScale(t.Key("scale"))
	s.written["types"] = readFields(t.Key("types"))
	if mistaken(t.Key("types"), simpleschema.Check(s.written["types"])) {
		return s
	}
	s.Spec, s.Status = s.read(t, "spec"), s.read(t, "status")
	for _, name := range topFields {
		if own := t.Key("fields").Peek(name); !own.Missing() {
			own.Errorf("is not one of these fields").Hint = elsewhere(name)
		}
	}
	s.Fields = s.read(t, "fields")
	return s
}

// readFields reads fields with their types, which are literal.
func readFields(v source.Value) map[string]any {
	switch {
	case v.Missing() || v.IsNull() || v.Broken():
		return nil
	case !v.IsMap():
		v.WrongShape("a map")
		return nil
	}
	fields, _ := v.AsItIs().Plain().(map[string]any)
	return fields
}

// elsewhere says where a field belongs.
func elsewhere(name string) string {
	if name == "spec" || name == "status" {
		return "write " + name + " beside fields"
	}
	return "remove it: every kind has it"
}

// read reads the fields of a key.
func (s *FieldSchemas) read(t source.Table, key string) *spec.Schema {
	s.written[key] = readFields(t.Key(key))
	if s.written[key] == nil {
		return nil
	}
	of, err := simpleschema.Parse(s.written[key], s.written["types"])
	if mistaken(t.Key(key), err) {
		return nil
	}
	return of
}

// mistaken records an error at the field that it is about, and reports whether there is one.
func mistaken(v source.Value, err error) bool {
	var e *simpleschema.Error
	if !errors.As(err, &e) {
		return false
	}
	at := v
	for _, name := range e.Path {
		below := at.Peek(name)
		if below.Missing() {
			break // It is in a type.
		}
		at = below
	}
	v.ErrorAt(at.Pos(), "%s", e)
	return true
}
