// Package openapi reads the OpenAPI v3 documents of an API server as far as
// they say something about kinds.
package openapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Prefix begins every reference to a definition.
const Prefix = "#/components/schemas/"

// A Document is what one document says: its kinds, and the definitions of
// their schemas as JSON, by name.
type Document struct {
	Kinds       []Kind
	Definitions map[string]json.RawMessage
}

// A Kind is one kind that is served.
type Kind struct {
	Group, Version, Kind string

	Resource   string // the plural name, as in paths
	Namespaced bool
	Status     bool   // there is a status subresource
	Scale      bool   // there is a scale subresource
	Model      string // the name of its definition
}

type document struct {
	Paths      map[string]map[string]json.RawMessage `json:"paths"`
	Components struct {
		Schemas map[string]json.RawMessage `json:"schemas"`
	} `json:"components"`
}

// GroupVersionKind is the value of the extension that names kinds.
type GroupVersionKind struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

// Read reads a document.
func Read(data []byte) (*Document, error) {
	var d document
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, fmt.Errorf("not an OpenAPI document: %w", err)
	}
	out := &Document{Definitions: d.Components.Schemas}
	models, err := models(d.Components.Schemas)
	if err != nil {
		return nil, err
	}
	kinds := map[string]*Kind{}
	for _, p := range sortedKeys(d.Paths) {
		at, ok := split(p)
		if !ok || at.sub != "" {
			continue
		}
		var op struct {
			GVK GroupVersionKind `json:"x-kubernetes-group-version-kind"`
		}
		// What cannot be read is not served for reading.
		if get := d.Paths[p]["get"]; json.Unmarshal(get, &op) != nil || models[op.GVK] == "" {
			continue
		}
		kinds[at.resource] = &Kind{Group: op.GVK.Group, Version: op.GVK.Version, Kind: op.GVK.Kind,
			Resource: at.resource, Namespaced: at.namespaced, Model: models[op.GVK]}
	}
	for p := range d.Paths {
		at, ok := split(p)
		if k := kinds[at.resource]; ok && k != nil {
			k.Status = k.Status || at.sub == "status"
			k.Scale = k.Scale || at.sub == "scale"
		}
	}
	for _, resource := range sortedKeys(kinds) {
		out.Kinds = append(out.Kinds, *kinds[resource])
	}
	return out, nil
}

// models returns the definition of each kind.
func models(schemas map[string]json.RawMessage) (map[GroupVersionKind]string, error) {
	out := map[GroupVersionKind]string{}
	for _, name := range sortedKeys(schemas) {
		var s struct {
			GVK []GroupVersionKind `json:"x-kubernetes-group-version-kind"`
		}
		if err := json.Unmarshal(schemas[name], &s); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if len(s.GVK) == 1 { // The options of requests are of every group.
			out[s.GVK[0]] = name
		}
	}
	return out, nil
}

// A location is what the path of an object or its subresource says.
type location struct {
	resource, sub string
	namespaced    bool
}

// split reads /api/v1/namespaces/{namespace}/pods/{name}/status and the like.
func split(path string) (location, bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	skip := 3
	if parts[0] == "api" {
		skip = 2
	}
	if len(parts) <= skip {
		return location{}, false
	}
	parts = parts[skip:]
	at := location{}
	if len(parts) > 2 && parts[0] == "namespaces" && parts[1] == "{namespace}" {
		at.namespaced = true
		parts = parts[2:]
	}
	switch {
	case len(parts) == 2 && parts[1] == "{name}":
		at.resource = parts[0]
	case len(parts) == 3 && parts[1] == "{name}":
		at.resource, at.sub = parts[0], parts[2]
	default:
		return location{}, false
	}
	return at, true
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
