package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/common"
	"github.com/google/cel-go/parser"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	openapierrors "k8s.io/kube-openapi/pkg/validation/errors"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// jsonTypes are the types of a schema.
var jsonTypes = []string{"array", "boolean", "integer", "number", "object", "string"}

// unsupported are keys of a schema that the API server does not accept.
var unsupported = []string{"$ref", "additionalItems", "definitions", "dependencies", "id", "patternProperties"}

// root finds keys that the schema of a whole object must not have.
func (f *flaws) root(path string, s, version map[string]any) {
	forbidden := []string{"additionalProperties", "nullable"}
	if subresources, _ := version["subresources"].(map[string]any); subresources["status"] != nil {
		forbidden = append(forbidden, "allOf", "anyOf", "default", "enum", "maxProperties", "minProperties", "not", "oneOf",
			mapType)
	}
	for _, key := range forbidden {
		if isSet(s[key]) {
			f.add(path+"."+key, "is not allowed at the root of a schema")
		}
	}
	named, _, _ := unstructured.NestedMap(s, "properties", "metadata", "properties")
	for _, key := range slices.Sorted(maps.Keys(named)) {
		if key != "name" && key != "generateName" {
			f.add(joinPath(path+".properties.metadata.properties", key),
				"a schema restricts name and generateName of metadata only")
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
	before := len(f.found)
	f.itself(path, s)
	f.merging(path, s)
	f.conditions(path, s)
	f.rules(path, s)
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
	if len(f.found) == before { // Otherwise the default is compared with a wrong schema.
		f.defaults(path, s)
	}
}

// itself checks the keys of one schema.
func (f *flaws) itself(path string, s map[string]any) {
	name, _ := s["type"].(string)
	switch {
	case name == "" && s[preserveUnknown] != true && s["x-kubernetes-int-or-string"] != true:
		f.add(path, "has no type")
	case name == "null":
		f.add(path+".type", "write nullable: true beside another type")
	case name != "" && !slices.Contains(jsonTypes, name):
		f.add(path+".type", "%q is not one of %s", name, strings.Join(jsonTypes, ", "))
	case name == "array" && s["items"] == nil:
		f.add(path, "has no items")
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
	if keeps, given := s[preserveUnknown].(bool); given && (!keeps || s["x-kubernetes-int-or-string"] == true) {
		f.add(path+"."+preserveUnknown, "must be left out here")
	}
	if pattern, _ := s["pattern"].(string); pattern != "" {
		if _, err := regexp.Compile(pattern); err != nil {
			f.add(path+".pattern", "%v", err)
		}
	}
}

// defaults finds a default that its schema does not allow.
func (f *flaws) defaults(path string, s map[string]any) {
	v, given := s["default"]
	if !given {
		return
	}
	text, err := json.Marshal(s)
	at := &spec.Schema{}
	if err != nil || at.UnmarshalJSON(text) != nil || v == nil && at.Nullable {
		return
	}
	for _, err := range validate.NewSchemaValidator(at, nil, "", strfmt.Default).Validate(v).Errors {
		message, wrong := err.Error(), (*openapierrors.Validation)(nil)
		if _, after, found := strings.Cut(message, " in body "); found {
			message = after
		}
		if errors.As(err, &wrong) && strings.Trim(wrong.Name, ".") != "" {
			message = strings.Trim(wrong.Name, ".") + " " + message
		}
		f.add(path+".default", "%s: %s", shownDefault(v), message)
		if _, parts := v.(map[string]any); !parts {
			break // One complaint about a value is enough.
		}
	}
	unknown := walk{set: Builtin(), unknown: func(_ *spec.Schema, _ map[string]any, u UnknownField) {
		f.add(path+".default", "%s: unknown field", u.Path)
	}}
	unknown.visit("", at, v)
}

// shownDefault returns a default as messages show it.
func shownDefault(v any) string {
	if text, err := json.Marshal(v); err == nil {
		return string(text)
	}
	return fmt.Sprint(v)
}

// rules finds x-kubernetes-validations that cannot be parsed. Their types are not checked.
func (f *flaws) rules(path string, s map[string]any) {
	validations, _ := s["x-kubernetes-validations"].([]any)
	if len(validations) == 0 {
		return
	}
	cel, err := parser.NewParser(parser.EnableOptionalSyntax(true), parser.EnableIdentEscapeSyntax(true))
	if err != nil {
		return
	}
	for i, v := range validations {
		entry, _ := v.(map[string]any)
		at := fmt.Sprintf("%s.x-kubernetes-validations[%d]", path, i)
		for _, key := range []string{"rule", "messageExpression"} {
			text, given := entry[key].(string)
			if strings.TrimSpace(text) == "" {
				if key == "rule" || given {
					f.add(at+"."+key, "is empty")
				}
				continue
			}
			if _, errs := cel.Parse(common.NewTextSource(text)); len(errs.GetErrors()) > 0 {
				f.add(at+"."+key, "%s", errs.GetErrors()[0].Message)
			}
		}
		if message, _ := entry["message"].(string); strings.Contains(strings.TrimSpace(message), "\n") {
			f.add(at+".message", "must be one line")
		}
	}
}

// required finds required fields that the schema does not have, so that no object is valid.
func (f *flaws) required(path string, s, properties map[string]any) {
	names, _ := s["required"].([]any)
	if s["x-kubernetes-preserve-unknown-fields"] == true || s["additionalProperties"] != nil || len(properties) == 0 {
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
