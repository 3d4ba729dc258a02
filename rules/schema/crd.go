package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// A crd is the part of a CustomResourceDefinition that this package reads.
type crd struct {
	Spec struct {
		Group, Scope string
		Names        struct{ Kind, Plural string }
		Versions     []struct {
			Name         string
			Served       bool
			Subresources struct {
				Status map[string]any
				Scale  *struct{ SpecReplicasPath, StatusReplicasPath, LabelSelectorPath string }
			}
			Schema struct{ OpenAPIV3Schema json.RawMessage }
		}
	}
}

// readCRD reads a CustomResourceDefinition of apiextensions.k8s.io/v1.
func readCRD(object map[string]any) (*crd, error) {
	u := &unstructured.Unstructured{Object: object}
	if u.GetAPIVersion() != "apiextensions.k8s.io/v1" || u.GetKind() != "CustomResourceDefinition" {
		return nil, fmt.Errorf("%s %s is not a CustomResourceDefinition of apiextensions.k8s.io/v1", u.GetAPIVersion(),
			u.GetKind())
	}
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	c := &crd{}
	if err := json.Unmarshal(text, c); err != nil {
		return nil, err
	}
	if s := &c.Spec; s.Group == "" || s.Names.Kind == "" || s.Names.Plural == "" || len(s.Versions) == 0 {
		return nil, errors.New("spec.group, spec.names.kind, spec.names.plural and spec.versions must be set")
	}
	return c, nil
}

// Defined returns the kind that a CustomResourceDefinition defines.
func Defined(object map[string]any) (runtimeschema.GroupKind, error) {
	c, err := readCRD(object)
	if err != nil {
		return runtimeschema.GroupKind{}, err
	}
	return runtimeschema.GroupKind{Group: c.Spec.Group, Kind: c.Spec.Names.Kind}, nil
}

// addCRD adds every served version of a CRD.
func (s *source) addCRD(object map[string]any) error {
	c, err := readCRD(object)
	if err != nil {
		return fmt.Errorf("CustomResourceDefinition/%s: %w", (&unstructured.Unstructured{Object: object}).GetName(), err)
	}
	for _, v := range c.Spec.Versions {
		if !v.Served {
			continue
		}
		k := &Kind{
			GVK:        runtimeschema.GroupVersionKind{Group: c.Spec.Group, Version: v.Name, Kind: c.Spec.Names.Kind},
			Resource:   c.Spec.Names.Plural,
			Namespaced: c.Spec.Scope != "Cluster",
			Status:     v.Subresources.Status != nil,
			Scale:      v.Subresources.Scale != nil,
			Custom:     true,
		}
		if scale := v.Subresources.Scale; scale != nil {
			k.scale = ScalePaths{Replicas: scale.SpecReplicasPath, StatusReplicas: scale.StatusReplicasPath,
				Selector: scale.LabelSelectorPath}
		}
		k.Definition = definitionName(k.GVK)
		s.addKind(k)
		s.definitions[k.Definition] = decodeOnce(
			func() (*spec.Schema, error) { return customSchema(k, v.Schema.OpenAPIV3Schema) })
	}
	return nil
}

// definitionName returns the name that the API server gives to the schema of a custom
// kind: com.example.platform.v1.WebApp.
func definitionName(gvk runtimeschema.GroupVersionKind) string {
	parts := strings.Split(gvk.Group, ".")
	slices.Reverse(parts)
	return strings.Join(append(parts, gvk.Version, gvk.Kind), ".")
}

// customSchema decodes the schema of a custom kind, and adds the fields that every
// object has.
func customSchema(k *Kind, openAPI []byte) (*spec.Schema, error) {
	if len(openAPI) == 0 {
		return nil, fmt.Errorf("%s has no schema", k.GVK.Kind)
	}
	out := &spec.Schema{}
	if err := out.UnmarshalJSON(openAPI); err != nil {
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

// metadataSchema returns the schema of metadata. A CRD can restrict the names in it,
// and nothing else.
func metadataSchema(own *spec.Schema) spec.Schema {
	ref := spec.Schema{SchemaProps: spec.SchemaProps{
		AllOf:   []spec.Schema{*spec.RefSchema(RefPrefix + objectMeta)},
		Default: map[string]any{},
	}}
	full := builtin().definitions[objectMeta]()
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

// RefPrefix begins every reference to a definition.
const RefPrefix = "#/components/schemas/"

// A Document is the part of an OpenAPI v3 document that is about kinds.
type Document struct {
	Kinds       []*Kind
	Definitions map[string]json.RawMessage // of their schemas, by name
}

// ReadDocument reads a document.
func ReadDocument(data []byte) (*Document, error) {
	var d struct {
		Paths      map[string]map[string]json.RawMessage
		Components struct{ Schemas map[string]json.RawMessage }
	}
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, fmt.Errorf("not an OpenAPI document: %w", err)
	}
	named, err := definitionNames(d.Components.Schemas)
	if err != nil {
		return nil, err
	}
	kinds := map[string]*Kind{}
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		at, ok := parsePath(path)
		if !ok || at.subresource != "" {
			continue
		}
		var get withGVK
		// A kind without GET has no objects, such as a review.
		if json.Unmarshal(d.Paths[path]["get"], &get) != nil || named[get.GVK] == "" {
			continue
		}
		definition := named[get.GVK]
		kinds[at.resource] = &Kind{GVK: get.GVK, Resource: at.resource, Namespaced: at.namespaced, Custom: !Own(definition),
			Definition: definition}
	}
	for path := range d.Paths {
		at, ok := parsePath(path)
		if k := kinds[at.resource]; ok && k != nil {
			k.Status = k.Status || at.subresource == "status"
			k.Scale = k.Scale || at.subresource == "scale"
		}
	}
	out := &Document{Definitions: d.Components.Schemas}
	for _, resource := range slices.Sorted(maps.Keys(kinds)) {
		out.Kinds = append(out.Kinds, kinds[resource])
	}
	return out, nil
}

// A withGVK is an operation on a kind.
type withGVK struct {
	GVK runtimeschema.GroupVersionKind `json:"x-kubernetes-group-version-kind"`
}

// definitionNames returns the name of each kind's definition.
func definitionNames(schemas map[string]json.RawMessage) (map[runtimeschema.GroupVersionKind]string, error) {
	out := map[runtimeschema.GroupVersionKind]string{}
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		var s struct {
			GVK []runtimeschema.GroupVersionKind `json:"x-kubernetes-group-version-kind"`
		}
		if err := json.Unmarshal(schemas[name], &s); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if len(s.GVK) == 1 { // The options of requests belong to every group.
			out[s.GVK[0]] = name
		}
	}
	return out, nil
}

// An objectPath is the path of an object or of its subresource.
type objectPath struct {
	resource, subresource string
	namespaced            bool
}

// parsePath reads /api/v1/namespaces/{namespace}/pods/{name}/status and the like.
func parsePath(path string) (objectPath, bool) {
	segments := strings.Split(strings.Trim(path, "/"), "/")
	skip := 3
	if segments[0] == "api" {
		skip = 2
	}
	if len(segments) <= skip {
		return objectPath{}, false
	}
	segments = segments[skip:]
	at := objectPath{}
	if len(segments) > 2 && segments[0] == "namespaces" && segments[1] == "{namespace}" {
		at.namespaced = true
		segments = segments[2:]
	}
	if len(segments) < 2 || len(segments) > 3 || segments[1] != "{name}" {
		return objectPath{}, false
	}
	at.resource = segments[0]
	if len(segments) == 3 {
		at.subresource = segments[2]
	}
	return at, true
}
