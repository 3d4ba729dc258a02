package schema

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Flaws returns why the API server rejects or ignores parts of a CustomResourceDefinition of apiextensions.k8s.io/v1:
// what definitionCheck finds, and fields and schemas by the rules of
// https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/.
func Flaws(object map[string]any) []Flaw {
	found := flawsOfSchemas(object)
	crd, err := definitionOf(object)
	if err != nil {
		return append(found, Flaw{Path: "spec", Message: err.Error()})
	}
	d := &definitionCheck{crd: crd}
	d.name()
	d.spec(field.NewPath("spec"))
	d.keeping()
	for _, err := range d.errs {
		if f := (Flaw{Path: writtenPath(err.Field), Message: errorText(err)}); !slices.Contains(found, f) {
			found = append(found, f)
		}
	}
	return found
}

// toWritten replaces how the API server calls what a CRD has in its only version.
var toWritten = strings.NewReplacer("spec.validation.", "spec.versions[0].schema.",
	"spec.subresources.", "spec.versions[0].subresources.",
	"spec.additionalPrinterColumns[", "spec.versions[0].additionalPrinterColumns[", ".JSONPath", ".jsonPath")

// property matches a property in the path of an error.
var property = regexp.MustCompile(`\.properties\[([^\]]*)\]`)

// writtenPath returns the path of a field as a CRD has it.
func writtenPath(path string) string {
	if path == "spec.version" {
		return "spec.versions[0].name"
	}
	return property.ReplaceAllStringFunc(toWritten.Replace(path), func(step string) string {
		return joinPath(".properties", property.FindStringSubmatch(step)[1])
	})
}

// errorText returns the first line of an error, with its value if that is a text.
func errorText(err *field.Error) string {
	text := err.ErrorBody()
	if _, short := err.BadValue.(string); err.Type == field.ErrorTypeInvalid && !short {
		text = err.Detail
	}
	text, _, _ = strings.Cut(text, "\n")
	return text
}

// flawsOfSchemas returns unknown fields, and the flaws of schemas that definitionCheck does not find.
func flawsOfSchemas(object map[string]any) []Flaw {
	set := Builtin()
	kind := set.Kind(runtimeschema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1",
		Kind: "CustomResourceDefinition"})
	f := &flaws{keys: set.keysOfSchemas(kind)}
	for _, u := range set.Unknown(kind, object) {
		f.addAccepted(u.Path, "unknown field%s", meant(u))
	}
	f.versions(object)
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

func (f *flaws) versions(object map[string]any) {
	versions, _, _ := unstructured.NestedSlice(object, "spec", "versions")
	served := false
	for i, v := range versions {
		version, _ := v.(map[string]any)
		served = served || version["served"] == true
		if root, _, _ := unstructured.NestedMap(version, "schema", "openAPIV3Schema"); root != nil {
			path := fmt.Sprintf("spec.versions[%d].schema.openAPIV3Schema", i)
			f.root(path, root, version)
			f.schema(path, root)
			f.scale(fmt.Sprintf("spec.versions[%d].subresources.scale", i), root, version)
		}
	}
	if !served {
		f.addAccepted("spec.versions", "none has served: true, so there are no such objects")
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
