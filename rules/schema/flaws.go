package schema

import (
	"fmt"
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
