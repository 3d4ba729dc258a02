package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"reconcel/rules/schema/internal/openapi"
)

// addCRD adds every version of a CRD that is served.
func (s *source) addCRD(object map[string]any) error {
	u := &unstructured.Unstructured{Object: object}
	if u.GetAPIVersion() != "apiextensions.k8s.io/v1" || u.GetKind() != "CustomResourceDefinition" {
		return fmt.Errorf("%s %s is no CustomResourceDefinition of apiextensions.k8s.io/v1", u.GetAPIVersion(), u.GetKind())
	}
	text := func(path ...string) string {
		v, _, _ := unstructured.NestedString(object, append([]string{"spec"}, path...)...) // Of another type is as good as missing.
		return v
	}
	group, kind, plural := text("group"), text("names", "kind"), text("names", "plural")
	if group == "" || kind == "" || plural == "" {
		return fmt.Errorf("CustomResourceDefinition/%s: group, names.kind or names.plural is missing", u.GetName())
	}
	versions, _, err := unstructured.NestedFieldNoCopy(object, "spec", "versions")
	list, ok := versions.([]any)
	if err != nil || !ok {
		return fmt.Errorf("CustomResourceDefinition/%s: versions is no list", u.GetName())
	}
	for _, item := range list {
		v, _ := item.(map[string]any)
		name, _ := v["name"].(string)
		if served, _ := v["served"].(bool); !served || name == "" {
			continue
		}
		subresources, _ := v["subresources"].(map[string]any)
		k := &Kind{
			GVK:        runtimeschema.GroupVersionKind{Group: group, Version: name, Kind: kind},
			Resource:   plural,
			Namespaced: text("scope") != "Cluster",
			Status:     subresources["status"] != nil,
			Scale:      subresources["scale"] != nil,
			Custom:     true,
		}
		k.Definition = definitionName(k.GVK)
		s.add(k)
		openAPI, _, _ := unstructured.NestedFieldNoCopy(v, "schema", "openAPIV3Schema") // Without one, nothing is known.
		s.definitions[k.Definition] = &definition{decode: func() (*spec.Schema, error) { return customSchema(k, openAPI) }}
	}
	return nil
}

// definitionName returns the name that the API server gives to the schema of a
// custom kind: com.example.platform.v1.WebApp.
func definitionName(gvk runtimeschema.GroupVersionKind) string {
	parts := strings.Split(gvk.Group, ".")
	slices.Reverse(parts)
	return strings.Join(append(parts, gvk.Version, gvk.Kind), ".")
}

// customSchema decodes the schema of a custom kind and adds what all objects
// have.
func customSchema(k *Kind, openAPI any) (*spec.Schema, error) {
	if openAPI == nil {
		return nil, fmt.Errorf("%s has no schema", k.GVK.Kind)
	}
	text, err := json.Marshal(openAPI)
	if err != nil {
		return nil, err
	}
	out := &spec.Schema{}
	if err := out.UnmarshalJSON(text); err != nil {
		return nil, err
	}
	if out.Properties == nil {
		out.Properties = map[string]spec.Schema{}
	}
	for _, key := range []string{"apiVersion", "kind"} {
		if _, said := out.Properties[key]; !said {
			out.Properties[key] = *spec.StringProperty()
		}
	}
	own := out.Properties["metadata"]
	out.Properties["metadata"] = metadataSchema(&own)
	out.AddExtension("x-kubernetes-group-version-kind", []any{map[string]any{
		"group": k.GVK.Group, "version": k.GVK.Version, "kind": k.GVK.Kind,
	}})
	return out, nil
}

// metadataSchema returns the schema of metadata. Of it a CRD can restrict the
// names, nothing else.
func metadataSchema(own *spec.Schema) spec.Schema {
	ref := spec.Schema{SchemaProps: spec.SchemaProps{
		AllOf:   []spec.Schema{*spec.RefSchema(openapi.Prefix + objectMeta)},
		Default: map[string]any{},
	}}
	full := builtin().definitions[objectMeta].get()
	if len(own.Properties) == 0 || full == nil {
		return ref
	}
	out := *full
	out.Default = map[string]any{}
	out.Properties = make(map[string]spec.Schema, len(full.Properties))
	for name, p := range full.Properties {
		if restricted, ok := own.Properties[name]; ok && (name == "name" || name == "generateName") {
			p = restricted
		}
		out.Properties[name] = p
	}
	return out
}
