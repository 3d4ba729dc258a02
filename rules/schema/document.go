package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
)

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
