package schema

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Flaws returns why the API server rejects or ignores parts of a
// CustomResourceDefinition of apiextensions.k8s.io/v1: unknown fields, and the rules of
// https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/.
func Flaws(object map[string]any) []Flaw {
	set := Builtin()
	kind := set.Kind(runtimeschema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1",
		Kind: "CustomResourceDefinition"})
	f := &flaws{crd: &unstructured.Unstructured{Object: object}, keys: set.keysOfSchemas(kind)}
	for _, u := range set.Unknown(kind, object) {
		f.addAccepted(u.Path, "unknown field%s", meant(u))
	}
	f.names()
	f.versions()
	return f.found
}

// A Flaw is a mistake in a CustomResourceDefinition.
type Flaw struct {
	Path     string // of the field, like spec.versions[0].name
	Message  string
	Accepted bool // the API server accepts the CRD, which means something else than it says
}

func (f Flaw) String() string { return f.Path + ": " + f.Message }

type flaws struct {
	crd   *unstructured.Unstructured
	keys  []string // that a schema may have, sorted
	found []Flaw
}

func (f *flaws) add(path, format string, args ...any) {
	f.found = append(f.found, Flaw{Path: path, Message: fmt.Sprintf(format, args...)})
}

// addAccepted adds a flaw for which the API server does not reject the CRD.
func (f *flaws) addAccepted(path, format string, args ...any) {
	f.found = append(f.found, Flaw{Path: path, Message: fmt.Sprintf(format, args...), Accepted: true})
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
	for _, key := range []string{"plural", "singular"} {
		f.label("spec.names."+key, f.text("spec", "names", key))
	}
	for _, key := range []string{"kind", "listKind"} {
		f.label("spec.names."+key, strings.ToLower(f.text("spec", "names", key)))
	}
	for _, key := range []string{"shortNames", "categories"} {
		names, _, _ := unstructured.NestedStringSlice(f.crd.Object, "spec", "names", key)
		for i, name := range names {
			f.label(fmt.Sprintf("spec.names.%s[%d]", key, i), name)
		}
	}
	if kind := f.text("spec", "names", "kind"); kind != "" && kind == f.text("spec", "names", "listKind") {
		f.add("spec.names.listKind", "must not be the kind itself: write %sList", kind)
	}
	if keeps, _, _ := unstructured.NestedBool(f.crd.Object, "spec", "preserveUnknownFields"); keeps {
		f.add("spec.preserveUnknownFields", "must be false: write x-kubernetes-preserve-unknown-fields in the schema")
	}
}

// label finds a name that is not a DNS label.
func (f *flaws) label(path, name string) {
	if name != "" && len(validation.IsDNS1035Label(name)) > 0 {
		f.add(path, "%q is not a name of at most 63 lower-case letters, digits and -, which begins with a letter", name)
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
		name, _ := version["name"].(string)
		f.label(path+".name", name)
		f.columns(path, version)
		f.scale(path, version)
		root, _, _ := unstructured.NestedMap(version, "schema", "openAPIV3Schema")
		if root == nil {
			f.add(path, "has no schema.openAPIV3Schema")
			continue
		}
		if root["type"] != "object" && (root["type"] != nil || root[preserveUnknown] != true) {
			f.add(path+".schema.openAPIV3Schema.type", "must be object")
		}
		f.root(path+".schema.openAPIV3Schema", root, version)
		f.schema(path+".schema.openAPIV3Schema", root)
	}
	if stored != 1 {
		f.add("spec.versions", "%d versions have storage: true, one must", stored)
	}
	if served == 0 {
		f.addAccepted("spec.versions", "none has served: true, so there are no such objects")
	}
}

// columnTypes are the types of additionalPrinterColumns.
var columnTypes = []string{"boolean", "date", "integer", "number", "string"}

// columns finds columns of kubectl get that the API server rejects.
func (f *flaws) columns(path string, version map[string]any) {
	columns, _, _ := unstructured.NestedSlice(version, "additionalPrinterColumns")
	for i, c := range columns {
		column, _ := c.(map[string]any)
		at := fmt.Sprintf("%s.additionalPrinterColumns[%d]", path, i)
		if column["name"] == nil {
			f.add(at, "has no name")
		}
		if kind, _ := column["type"].(string); !slices.Contains(columnTypes, kind) {
			f.add(at+".type", "%q is not one of %s", kind, strings.Join(columnTypes, ", "))
		}
		if from, _ := column["jsonPath"].(string); !strings.HasPrefix(from, ".") {
			f.add(at+".jsonPath", "%q does not begin with a dot, such as .spec.replicas", from)
		}
	}
}

// scale finds fields of the scale subresource that the API server rejects.
func (f *flaws) scale(path string, version map[string]any) {
	scale, scaled, _ := unstructured.NestedMap(version, "subresources", "scale")
	if !scaled {
		return
	}
	for key, in := range map[string]string{"specReplicasPath": ".spec.", "statusReplicasPath": ".status."} {
		if from, _ := scale[key].(string); !strings.HasPrefix(from, in) {
			f.add(path+".subresources.scale."+key, "%q does not begin with %s", from, in)
		}
	}
}

// merging finds lists and maps that server-side apply could not merge.
func (f *flaws) merging(path string, s map[string]any) {
	f.mergeType(path, mapType, s, "object", "atomic", "granular")
	f.mergeType(path, listType, s, "array", "atomic", "set", "map")
	keys, _ := s[listMapKeys].([]any)
	items, _ := s["items"].(map[string]any)
	switch {
	case s[listType] == "map" && len(keys) == 0:
		f.add(path, "has no %s, which a list of the type map needs", listMapKeys)
	case s[listType] == "map":
		f.mapKeys(path, keys, items)
	case len(keys) > 0:
		f.add(path+"."+listMapKeys, "needs %s: map", listType)
	}
	if s[listType] != "set" && s[listType] != "map" {
		return
	}
	if items["nullable"] == true {
		f.add(path+".items.nullable", "is not allowed in a list of the type %s", s[listType])
	}
	if s[listType] == "set" && items["type"] == "object" && items[mapType] != "atomic" {
		f.add(path+"."+listType, "a set has no maps as elements: write map and %s", listMapKeys)
	}
	if inner, given := items[listType]; s[listType] == "set" && given && inner != "atomic" {
		f.add(path+".items."+listType, "must be atomic in a set")
	}
}

// mergeType checks the value of a key that belongs to one type of a schema.
func (f *flaws) mergeType(path, key string, s map[string]any, belongs string, allowed ...string) {
	v, given := s[key]
	if !given {
		return
	}
	if text, _ := v.(string); !slices.Contains(allowed, text) {
		f.add(path+"."+key, "%q is not one of %s", fmt.Sprint(v), strings.Join(allowed, ", "))
	}
	if s["type"] != belongs {
		f.add(path+"."+key, "needs type: %s", belongs)
	}
}

// mapKeys checks the keys by which a list is merged.
func (f *flaws) mapKeys(path string, keys []any, items map[string]any) {
	if items["type"] != "object" {
		f.add(path+"."+listType, "a list of the type map has maps as elements: write items: {type: object}")
		return
	}
	properties, _ := items["properties"].(map[string]any)
	required, _ := items["required"].([]any)
	for i, k := range keys {
		at := fmt.Sprintf("%s.%s[%d]", path, listMapKeys, i)
		key, _ := k.(string)
		p, known := properties[key].(map[string]any)
		switch _, defaulted := p["default"]; {
		case !known:
			f.add(at, "the elements have no property %q", key)
		case slices.Contains(keys[:i], k):
			f.add(at, "%s is there twice", key)
		case p["type"] == "object" || p["type"] == "array":
			f.add(at, "%s must be a text, a number or a boolean", key)
		case !defaulted && !slices.Contains(required, k):
			f.add(at, "%s must be required, or have a default", key)
		case p["nullable"] == true:
			f.add(at, "%s must not be nullable", key)
		}
	}
}

// conditional are the keys under which a schema restricts values and defines nothing.
var conditional = []string{"allOf", "anyOf", "oneOf", "not"}

// defining are the keys that a schema under them must not have.
var defining = []string{"type", "additionalProperties", "default", "title", "description", "nullable", preserveUnknown,
	embeddedResource,
	"x-kubernetes-int-or-string", listType, listMapKeys, mapType, "x-kubernetes-validations"}

// conditions finds schemas under allOf and the like that define something: the API server
// calls such a schema not structural.
func (f *flaws) conditions(path string, s map[string]any) {
	for _, key := range conditional {
		if key == "anyOf" && isIntOrString(s[key]) {
			continue
		}
		if one, ok := s[key].(map[string]any); ok {
			f.condition(path+"."+key, one)
		}
		several, _ := s[key].([]any)
		for i, v := range several {
			if one, ok := v.(map[string]any); ok {
				f.condition(fmt.Sprintf("%s.%s[%d]", path, key, i), one)
			}
		}
	}
}

func (f *flaws) condition(path string, s map[string]any) {
	for _, key := range defining {
		if isSet(s[key]) {
			f.add(path+"."+key, "is not allowed under allOf, anyOf, oneOf and not: write it outside of them")
		}
	}
	f.conditions(path, s)
	properties, _ := s["properties"].(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(properties)) {
		if p, ok := properties[key].(map[string]any); ok {
			f.condition(joinPath(path+".properties", key), p)
		}
	}
	if items, ok := s["items"].(map[string]any); ok {
		f.condition(path+".items", items)
	}
}

// isIntOrString reports whether anyOf allows integers and texts, the only types that may
// stand there.
func isIntOrString(anyOf any) bool {
	list, _ := anyOf.([]any)
	if len(list) != 2 {
		return false
	}
	first, _ := list[0].(map[string]any)
	second, _ := list[1].(map[string]any)
	return len(first) == 1 && len(second) == 1 && first["type"] == "integer" && second["type"] == "string"
}
