package schema

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
)

// Flaws returns why the API server rejects or ignores parts of a
// CustomResourceDefinition of apiextensions.k8s.io/v1: unknown fields, and the rules of
// https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/.
func Flaws(object map[string]any) []Flaw {
	set := Builtin()
	kind := set.Kind(runtimeschema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	f := &flaws{crd: &unstructured.Unstructured{Object: object}, keys: set.keysOfSchemas(kind)}
	for _, u := range set.Unknown(kind, object) {
		f.add(u.Path, "unknown field%s", meant(u))
	}
	f.names()
	f.versions()
	return f.found
}

// A Flaw is a mistake in a CustomResourceDefinition.
type Flaw struct {
	Path    string // of the field, like spec.versions[0].name
	Message string
}

func (f Flaw) String() string { return f.Path + ": " + f.Message }

type flaws struct {
	crd   *unstructured.Unstructured
	keys  []string // that a schema may have, sorted
	found []Flaw
}

func (f *flaws) add(path, format string, args ...any) {
	f.found = append(f.found, Flaw{path, fmt.Sprintf(format, args...)})
}

func (f *flaws) text(fields ...string) string {
	s, _, _ := unstructured.NestedString(f.crd.Object, fields...)
	return s
}

// meant suggests a field that differs in upper and lower case, or in a missing letter at
// the end.
func meant(u UnknownField) string {
	for _, name := range u.Have {
		if strings.EqualFold(name, u.Name) || u.Name == name+"s" || u.Name+"s" == name {
			return " (did you mean '" + name + "'?)"
		}
	}
	return ""
}

func (f *flaws) names() {
	group, plural := f.text("spec", "group"), f.text("spec", "names", "plural")
	if !strings.Contains(group, ".") {
		f.add("spec.group", "%q has no dot: write a domain, such as example.com", group)
	}
	if want := plural + "." + group; f.crd.GetName() != want {
		f.add("metadata.name", "must be spec.names.plural and spec.group: %s", want)
	}
	if scope := f.text("spec", "scope"); scope != "Namespaced" && scope != "Cluster" {
		f.add("spec.scope", "%q is not Namespaced or Cluster", scope)
	}
}

func (f *flaws) versions() {
	versions, _, _ := unstructured.NestedSlice(f.crd.Object, "spec", "versions")
	served, stored := 0, 0
	names := map[any]bool{}
	for i, v := range versions {
		version, _ := v.(map[string]any)
		path := fmt.Sprintf("spec.versions[%d]", i)
		if version["served"] == true {
			served++
		}
		if version["storage"] == true {
			stored++
		}
		if names[version["name"]] {
			f.add(path+".name", "%v is there twice", version["name"])
		}
		names[version["name"]] = true
		root, _, _ := unstructured.NestedMap(version, "schema", "openAPIV3Schema")
		if root == nil {
			f.add(path, "has no schema.openAPIV3Schema")
			continue
		}
		if root["type"] != "object" {
			f.add(path+".schema.openAPIV3Schema.type", "must be object")
		}
		f.schema(path+".schema.openAPIV3Schema", root)
	}
	if stored != 1 {
		f.add("spec.versions", "%d versions have storage: true, one must", stored)
	}
	if served == 0 {
		f.add("spec.versions", "none has served: true, so there are no such objects")
	}
}

// jsonTypes are the types of a schema, each with a test of a decoded value.
var jsonTypes = map[string]func(any) bool{
	"string":  func(v any) bool { _, ok := v.(string); return ok },
	"boolean": func(v any) bool { _, ok := v.(bool); return ok },
	"integer": func(v any) bool {
		f, isFloat := v.(float64) // as decoders of YAML give whole numbers, too
		_, isInt := v.(int64)
		return isInt || isFloat && f == math.Trunc(f)
	},
	"number": func(v any) bool {
		_, isInt := v.(int64)
		_, isFloat := v.(float64)
		return isInt || isFloat
	},
	"array":  func(v any) bool { _, ok := v.([]any); return ok },
	"object": func(v any) bool { _, ok := v.(map[string]any); return ok },
}

// schema checks a schema and those in it.
func (f *flaws) schema(path string, s map[string]any) {
	name, _ := s["type"].(string)
	fits, known := jsonTypes[name]
	anything := s["x-kubernetes-preserve-unknown-fields"] == true || s["x-kubernetes-int-or-string"] == true
	switch {
	case name == "" && !anything:
		f.add(path, "has no type")
	case name != "" && !known:
		f.add(path+".type", "%q is not one of %s", name, strings.Join(slices.Sorted(maps.Keys(jsonTypes)), ", "))
	case name == "array" && s["items"] == nil:
		f.add(path, "has no items")
	}
	if v, given := s["default"]; given && known && !fits(v) && (v != nil || s["nullable"] != true) {
		f.add(path+".default", "%v is not of the type %s", v, name)
	}
	enum, closed := s["enum"].([]any)
	if v, given := s["default"]; given && closed && known && fits(v) && name != "array" && name != "object" && !slices.Contains(enum, v) {
		f.add(path+".default", "%v is not in the enum", v)
	}
	if pattern, _ := s["pattern"].(string); pattern != "" {
		if _, err := regexp.Compile(pattern); err != nil {
			f.add(path+".pattern", "%v", err)
		}
	}
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

// required finds required fields that the schema does not have, so that no object is valid.
func (f *flaws) required(path string, s, properties map[string]any) {
	names, _ := s["required"].([]any)
	if s["x-kubernetes-preserve-unknown-fields"] == true || s["additionalProperties"] != nil || len(properties) == 0 {
		return
	}
	for i, name := range names {
		key, _ := name.(string)
		if _, known := properties[key]; !known && !commonFields[key] {
			f.add(fmt.Sprintf("%s.required[%d]", path, i), "there is no property %q, so no object is valid", key)
		}
	}
}

// unknown finds unknown keys of a schema in a field that may also hold something else, for
// which Kubernetes' own schema has no fields.
func (f *flaws) unknown(path string, s map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(s)) {
		if !slices.Contains(f.keys, key) {
			f.add(joinPath(path, key), "unknown field%s", meant(UnknownField{Name: key, Have: f.keys}))
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
