package schema

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// jsonTypes are the types of a schema.
var jsonTypes = []string{"array", "boolean", "integer", "number", "object", "string"}

// unsupported are keys of a schema that the API server does not accept.
var unsupported = []string{"$ref", "additionalItems", "definitions", "dependencies", "id", "patternProperties"}

// root finds keys that the schema of a whole object must not have if status is a subresource.
func (f *flaws) root(path string, s, version map[string]any) {
	subresources, _ := version["subresources"].(map[string]any)
	if subresources["status"] == nil {
		return
	}
	for _, key := range []string{"allOf", "anyOf", "default", "enum", "maxProperties", "minProperties", "not", "oneOf",
		mapType} {
		if isSet(s[key]) {
			f.add(path+"."+key, "is not allowed at the root of a schema")
		}
	}
}

// scale finds paths of the scale subresource to fields that the objects do not have.
func (f *flaws) scale(path string, root, version map[string]any) {
	scale, _, _ := unstructured.NestedStringMap(version, "subresources", "scale")
	for _, key := range slices.Sorted(maps.Keys(scale)) {
		at, names := root, strings.Split(strings.TrimPrefix(scale[key], "."), ".")
		for at != nil && len(names) > 0 && at[preserveUnknown] != true && at["additionalProperties"] == nil {
			at, _, _ = unstructured.NestedMap(at, "properties", names[0])
			names = names[1:]
		}
		if at == nil {
			f.addAccepted(path+"."+key, "there is no field %s", scale[key])
		}
	}
}

// isSet reports whether a value is not the zero value of its type.
func isSet(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case []any:
		return len(v) > 0
	}
	return true
}

// schema checks a schema and those in it.
func (f *flaws) schema(path string, s map[string]any) {
	f.itself(path, s)
	f.merging(path, s)
	properties, _ := s["properties"].(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(properties)) {
		if p, ok := properties[key].(map[string]any); ok {
			f.schema(joinPath(path+".properties", key), p)
		}
	}
	f.required(path, s, properties)
	for _, key := range []string{"items", "additionalProperties"} {
		if p, ok := s[key].(map[string]any); ok {
			f.unknown(path+"."+key, p)
			f.schema(path+"."+key, p)
		}
	}
}

// itself checks the keys of one schema.
func (f *flaws) itself(path string, s map[string]any) {
	name, _ := s["type"].(string)
	switch {
	case name == "null":
		f.add(path+".type", "write nullable: true beside another type")
	case name != "" && !slices.Contains(jsonTypes, name):
		f.add(path+".type", "%q is not one of %s", name, strings.Join(jsonTypes, ", "))
	}
	if _, several := s["items"].([]any); several {
		f.add(path+".items", "must be one schema, not a list")
	}
	for _, key := range unsupported {
		if isSet(s[key]) {
			f.add(joinPath(path, key), "is not supported in a CRD")
		}
	}
	if s["uniqueItems"] == true {
		f.add(path+".uniqueItems", "is not supported in a CRD: write x-kubernetes-list-type: set")
	}
	if properties, _ := s["properties"].(map[string]any); len(properties) > 0 && s["additionalProperties"] != nil &&
		s["additionalProperties"] != true {
		f.add(path+".additionalProperties", "excludes properties: a map has no fields of its own")
	}
	if s[preserveUnknown] == false {
		f.add(path+"."+preserveUnknown, "must be left out here")
	}
}

// required finds required fields that the schema does not have, so that no object is valid.
func (f *flaws) required(path string, s, properties map[string]any) {
	names, _ := s["required"].([]any)
	if s[preserveUnknown] == true || s["additionalProperties"] != nil || len(properties) == 0 {
		return
	}
	for i, name := range names {
		key, _ := name.(string)
		if _, known := properties[key]; !known && !commonFields[key] {
			f.addAccepted(fmt.Sprintf("%s.required[%d]", path, i), "there is no property %q, so no object is valid", key)
		}
	}
}

// unknown finds unknown keys of a schema in a field that may also hold something else, for
// which Kubernetes' own schema has no fields.
func (f *flaws) unknown(path string, s map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(s)) {
		if !slices.Contains(f.keys, key) {
			f.addAccepted(joinPath(path, key), "unknown field%s", meant(UnknownField{Name: key, Have: f.keys}))
		}
	}
	properties, _ := s["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if p, ok := properties[name].(map[string]any); ok {
			f.unknown(joinPath(path+".properties", name), p)
		}
	}
}

// keysOfSchemas returns the keys that a schema in a CRD may have.
func (s *Set) keysOfSchemas(crd *Kind) []string {
	at := s.Schema(crd.GVK)
	for _, key := range []string{"spec", "versions", "", "schema", "openAPIV3Schema"} {
		if at = s.Resolve(at); key == "" {
			at = itemOf(at)
			continue
		}
		at, _ = fieldOf(at, key)
	}
	return slices.Sorted(maps.Keys(s.Resolve(at).Properties))
}
