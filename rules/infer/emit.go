package infer

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"reconcel/rules/crd"
	"reconcel/rules/schema"
	"reconcel/rules/source"
)

// fieldDescription returns the description of a field of a schema.
func fieldDescription(of *slot, name string, p *spec.Schema) string {
	if p.Description != "" || of.definition == "" {
		return p.Description
	}
	return described(of.definition, name)
}

// firstSentence returns the first sentence of a text: what follows it in Kubernetes' own
// descriptions is about Kubernetes.
func firstSentence(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	for i := 0; i+2 < len(text); i++ {
		if text[i] == '.' && text[i+1] == ' ' && text[i+2] >= 'A' && text[i+2] <= 'Z' {
			return text[:i+1]
		}
	}
	return text
}

// An emitter writes the schemas of one kind.
type emitter struct {
	slots    *slots
	comments map[string]string
	optional []string // paths of fields that the schema of a rule makes optional
	depth    int
}

// definition returns what a kind is like.
func (in *inference) definition(p *primary) *crd.Definition {
	e := &emitter{slots: &in.slots, comments: map[string]string{}}
	d := &crd.Definition{GVK: p.gvk, Cluster: p.cluster && !p.beside, Comments: e.comments}
	fields := maps.Clone(p.slot.find().fields)
	if f := fields["spec"]; f != nil {
		d.Spec = e.schema("spec", f.find())
	}
	if f := fields["status"]; f != nil {
		d.Status = e.schema("status", f.find())
	}
	maps.DeleteFunc(fields, func(name string, _ *field) bool { return slices.Contains(ownFields, name) })
	if len(fields) > 0 {
		d.Fields = e.fields("", fields)
	}
	for _, r := range p.rules {
		e.optional = append(e.optional, r.Schema.Optional()...)
		d.Spec = e.refine("spec", d.Spec, r.Schema.Spec)
		d.Status = e.refine("status", d.Status, r.Schema.Status)
		d.Fields = e.refine("", d.Fields, r.Schema.Fields)
		if r.Schema.Names != nil {
			d.Names = r.Schema.Names
		}
		if r.Schema.Scale != nil {
			d.Scale = r.Schema.Scale
		}
	}
	if d.Spec != nil {
		fill(d.Spec)
	}
	if d.Status != nil {
		delete(d.Status.Properties, "conditions")
		d.Status.Required, d.Status.Default = nil, nil
	}
	d.Validations = p.validations(d)
	return d
}

// ownFields are the fields of objects that every kind has, or that have a part of their own in
// a definition.
var ownFields = []string{"apiVersion", "kind", "metadata", "spec", "status"}

// below returns the path of a field.
func below(path, name string) string { return strings.TrimPrefix(path+"."+name, ".") }

// schema returns the schema of a field.
func (e *emitter) schema(path string, f *field) *spec.Schema {
	out := e.ofSlot(path, f.slot.find(), f.at)
	out.Description = f.description
	if v, ok := f.given(); ok && fitsType(v, out) && !f.required {
		out.Default = v
	}
	if len(f.choices) > 0 && out.Type.Contains("string") && len(out.Enum) == 0 {
		e.comment(path, "Only %s? %s compares it with them: enum: [%s]", joined(f.choices), f.compared, joined(f.choices))
	}
	return out
}

func joined(values []any) string {
	var out []string
	for _, v := range values {
		out = append(out, fmt.Sprint(v))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

func (e *emitter) comment(path, format string, args ...any) {
	if e.comments[path] == "" {
		e.comments[path] = fmt.Sprintf(format, args...)
	}
}

// fitsType reports whether a default is of the type of its field.
func fitsType(v any, s *spec.Schema) bool {
	if len(s.Type) != 1 {
		return false
	}
	switch v.(type) {
	case string:
		return s.Type[0] == "string"
	case int64:
		return s.Type[0] == "integer" || s.Type[0] == "number"
	case float64:
		return s.Type[0] == "number"
	case bool:
		return s.Type[0] == "boolean"
	case []any:
		return s.Type[0] == "array"
	case map[string]any:
		return s.Type[0] == "object"
	}
	return false
}

// names are the types of scalars.
var names = map[kind]string{boolean: "boolean", integer: "integer", number: "number", text: "string",
	quantity: "string", moment: "string"}

func (e *emitter) ofSlot(path string, s *slot, at source.Pos) *spec.Schema {
	e.depth++
	defer func() { e.depth-- }()
	out := &spec.Schema{}
	switch {
	case s.clash || e.depth > maxDepth:
		e.comment(path, "The rules use it as values of several types, first at %s: write its type here.", at)
	case s.is == moment:
		return spec.DateTimeProperty()
	case names[s.is] != "":
		out.Type, out.Format, out.Enum = spec.StringOrArray{names[s.is]}, s.format, s.enum
		return out
	case s.is == portLike:
		out.AddExtension("x-kubernetes-int-or-string", true)
		return out
	case s.is == list:
		if s.inner == nil {
			return spec.ArrayProperty(e.nothing(path+"[]", at))
		}
		return spec.ArrayProperty(e.ofSlot(path+"[]", s.inner.find(), at))
	case s.is == mapping:
		return spec.MapProperty(e.ofSlot(path+"[]", s.inner.find(), at))
	case s.is == object:
		return e.object(path, s)
	case s.is == special && strings.Contains(s.name, "uration"):
		return spec.StringProperty()
	case s.is == unknown && s.printed:
		e.comment(path, "A string? The rules only put it into texts, first at %s.", at)
		return spec.StringProperty()
	}
	return e.nothing(path, at)
}

const preserveUnknown = "x-kubernetes-preserve-unknown-fields"

// nothing returns the schema of a value whose type is unknown.
func (e *emitter) nothing(path string, at source.Pos) *spec.Schema {
	out := &spec.Schema{}
	out.AddExtension(preserveUnknown, true)
	if at != (source.Pos{}) {
		e.comment(path, "Its type is not known, %s reads it: write it here.", at)
	} else {
		e.comment(path, "Its type is not known: write it here.")
	}
	return out
}

// object returns the schema of an object with known fields.
func (e *emitter) object(path string, s *slot) *spec.Schema {
	if s.schema != nil {
		return e.known(path, s)
	}
	if len(s.fields) == 0 || s.merged {
		e.comment(path, "It is merged with others or not read, and every field is kept: write out those that it may have.")
		return keepsAll()
	}
	return e.fields(path, s.fields)
}

// fields returns the schema of an object with these fields.
func (e *emitter) fields(path string, fields map[string]*field) *spec.Schema {
	out := &spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"object"},
		Properties: map[string]spec.Schema{}}}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		f := fields[name].find()
		p := e.schema(below(path, name), f)
		out.Properties[name] = *p
		if p.Default == nil && (f.required || len(f.reads) > 0 && f.asks == 0) {
			out.Required = append(out.Required, name)
		}
	}
	return out
}

// maxFields is how many fields of a schema of Kubernetes are written out.
const maxFields = 24

// known returns the schema of an object of Kubernetes, if it is small.
func (e *emitter) known(path string, s *slot) *spec.Schema {
	at := s.schema
	if s.definition != "" {
		at = spec.RefSchema(schema.RefPrefix + s.definition)
	}
	if out := e.slots.set.Inline(at, described); schema.CountFields(out) <= maxFields {
		return out
	}
	if name := schema.TypeOf(s.definition); name != "" {
		e.comment(path, "It is passed on as a %s, and every field is kept: write this type into the schema of the rule, or "+
			"write out the fields that it may have.", name)
	} else {
		e.comment(path, "It is passed on as a part of an object, and every field is kept: write out those that it may have.")
	}
	return keepsAll()
}

// described returns the first sentence of the description of a field.
func described(definition, field string) string {
	return firstSentence(schema.Description(definition, field))
}

// keepsAll returns the schema of an object with any fields.
func keepsAll() *spec.Schema {
	out := &spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"object"}}}
	out.AddExtension(preserveUnknown, true)
	return out
}
