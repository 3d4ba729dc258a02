package schema

import (
	"reflect"
	"slices"
	"strings"
	"sync"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// metaPackage has types that objects of all groups have, such as LabelSelector.
const metaPackage = "io.k8s.apimachinery.pkg.apis.meta.v1."

// inlined are the results of Type by name. Types are made once, because rules can name one often.
var inlined sync.Map

// Type returns a type of Kubernetes as a part of a CRD's schema: v1/PodTemplateSpec is the type PodTemplateSpec in the
// OpenAPI document of the API version v1. It returns nil for an unknown type. Do not change what it returns.
func Type(name string) *spec.Schema {
	if made, found := inlined.Load(name); found {
		return made.(*spec.Schema)
	}
	of := TypeReference(name)
	if of == nil {
		return nil
	}
	made, _ := inlined.LoadOrStore(name, Builtin().Inline(of, nil))
	return made.(*spec.Schema)
}

// TypeReference returns a reference to the definition of a type that Type knows, in Builtin, or nil.
func TypeReference(name string) *spec.Schema {
	at := strings.LastIndex(name, "/")
	if at < 0 {
		return nil
	}
	version, err := runtimeschema.ParseGroupVersion(name[:at])
	if err != nil {
		return nil
	}
	for _, in := range []string{packages()[version], metaPackage} {
		if definition := in + name[at+1:]; packages()[version] != "" && Builtin().Named(definition) != nil {
			return spec.RefSchema(RefPrefix + definition)
		}
	}
	return nil
}

// CountFields returns the number of fields of a schema without references, also those inside of others.
func CountFields(s *spec.Schema) int {
	n := len(s.Properties)
	for _, sub := range subschemas(s) {
		n += CountFields(sub)
	}
	return n
}

// TypeOf returns the name that Type takes for a definition of Kubernetes, or "".
func TypeOf(definition string) string {
	at := strings.LastIndex(definition, ".") + 1
	if definition[:at] == metaPackage {
		return "v1/" + definition[at:]
	}
	for version, in := range packages() {
		if in == definition[:at] {
			return version.String() + "/" + definition[at:]
		}
	}
	return ""
}

// packages are the beginnings of the names of definitions, by the version of the API.
var packages = sync.OnceValue(func() map[runtimeschema.GroupVersion]string {
	all := map[runtimeschema.GroupVersion]string{}
	for _, k := range Builtin().Kinds() {
		if in, named := strings.CutSuffix(k.Definition, k.GVK.Kind); named && in != metaPackage {
			all[k.GVK.GroupVersion()] = in
		}
	}
	return all
})

// Inline returns a schema as a CRD can have it: without references, and with what the API server accepts in structural
// schemas. A type inside itself becomes an object with any fields. The describer returns descriptions for fields that
// have none. It may be nil.
func (s *Set) Inline(at *spec.Schema, describer func(definition, field string) string) *spec.Schema {
	if describer == nil {
		describer = func(string, string) string { return "" }
	}
	return (&inliner{set: s, describe: describer}).inline(at)
}

// An inliner replaces references by what they refer to.
type inliner struct {
	set      *Set
	describe func(definition, field string) string
	within   []string // definitions, each inside the one before
}

func (in *inliner) inline(at *spec.Schema) *spec.Schema {
	name, of := Reference(at), in.set.Resolve(at)
	if of == nil || slices.Contains(in.within, name) {
		return keeping(nil)
	}
	if name != "" {
		in.within = append(in.within, name)
		defer func() { in.within = in.within[:len(in.within)-1] }()
	}
	switch {
	case hasExtension(of, intOrString) || len(of.OneOf) > 0: // Also quantities: people write 1 as well as 500m.
		out := &spec.Schema{}
		out.AddExtension(intOrString, true)
		return out
	case len(of.Type) != 1:
		return keeping(nil)
	case name == objectMeta && len(in.within) > 1:
		return embeddedMeta()
	}
	out := &spec.Schema{SchemaProps: of.SchemaProps}
	out.Description, out.AllOf = at.Description, nil
	if out.Default = at.Default; isZero(out.Default) {
		out.Default = nil
	}
	kept := []string{mapType, preserveUnknown}
	switch extra := of.AdditionalProperties; {
	case of.Items != nil && of.Items.Schema != nil:
		out.Items = &spec.SchemaOrArray{Schema: in.inline(of.Items.Schema)}
		if how, keys := MergedBy(of); how == "set" || how == "map" && identify(keys, out.Items.Schema) {
			kept = append(kept, listType, listMapKeys)
		}
	case len(of.Properties) > 0:
		out.Properties, out.AdditionalProperties = map[string]spec.Schema{}, nil
		for field, p := range of.Properties {
			inlined := in.inline(&p)
			if inlined.Description == "" {
				inlined.Description = in.describe(name, field)
			}
			out.Properties[field] = *inlined
		}
	case extra != nil && extra.Schema != nil:
		out.AdditionalProperties = &spec.SchemaOrBool{Allows: true, Schema: in.inline(extra.Schema)}
	case of.Type[0] == "object":
		return keeping(of.Type)
	}
	for _, key := range kept {
		for _, from := range []*spec.Schema{of, at} { // A schema that refers takes precedence.
			if value, has := from.Extensions[key]; has {
				out.AddExtension(key, value)
			}
		}
	}
	return out
}

// identify reports whether each element has all keys, as the API server requires it of a CRD. Otherwise, the list is
// replaced as a whole.
func identify(keys []string, item *spec.Schema) bool {
	return !slices.ContainsFunc(keys, func(key string) bool {
		return !slices.Contains(item.Required, key) && item.Properties[key].Default == nil
	})
}

// keeping returns a schema for values with any fields.
func keeping(of spec.StringOrArray) *spec.Schema {
	out := &spec.Schema{SchemaProps: spec.SchemaProps{Type: of}}
	out.AddExtension(preserveUnknown, true)
	return out
}

// isZero reports whether a default only says that Go has no absent values.
func isZero(v any) bool {
	if fields, isMap := v.(map[string]any); isMap {
		return len(fields) == 0
	}
	return v == nil || reflect.ValueOf(v).IsZero()
}

// embeddedMeta returns the schema of the metadata of a template, with what its authors write.
func embeddedMeta() *spec.Schema {
	texts := spec.MapProperty(spec.StringProperty())
	return &spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"object"},
		Properties: map[string]spec.Schema{"name": *spec.StringProperty(), "namespace": *spec.StringProperty(),
			"labels": *texts, "annotations": *texts, "finalizers": *spec.ArrayProperty(spec.StringProperty())}}}
}
