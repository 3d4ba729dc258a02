package foreign

import (
	"encoding/json"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"
	kubeyaml "sigs.k8s.io/yaml"

	"reconcel/rules/crd"
)

// A Definition is a custom kind that the input defines.
type Definition struct {
	Group    string
	Names    map[string]any // as in a CRD; Complete adds those that are missing
	Cluster  bool           // its objects have no namespace
	Metadata map[string]any // labels and annotations of the CRD
	Versions []Version
}

// A Version is a version of a custom kind.
type Version struct {
	Name            string
	Served, Storage bool
	Schema          *spec.Schema // of whole objects
	Columns         []any        // printer columns; none: those that reconcel recommends
}

// Complete adds the names that follow from the kind.
func (d *Definition) Complete(kind string) {
	names := map[string]any{"kind": kind, "listKind": kind + "List", "plural": Plural(d.Group, kind),
		"singular": strings.ToLower(kind)}
	maps.Copy(names, d.Names)
	d.Names = names
}

// Plural returns the usual plural name of a kind.
func Plural(group, kind string) string {
	plural, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Group: group, Kind: kind})
	return plural.Resource
}

// CRD returns the CustomResourceDefinition, with the conditions in which reconcel reports.
func (d *Definition) CRD() (map[string]any, error) {
	var versions []any
	for _, v := range d.Versions {
		version, err := v.content()
		if err != nil {
			return nil, err
		}
		versions = append(versions, version)
	}
	metadata := map[string]any{"name": d.Names["plural"].(string) + "." + d.Group}
	maps.Copy(metadata, d.Metadata)
	scope := "Namespaced"
	if d.Cluster {
		scope = "Cluster"
	}
	return map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1",
		"kind":       "CustomResourceDefinition",
		"metadata":   metadata,
		"spec":       map[string]any{"group": d.Group, "scope": scope, "names": d.Names, "versions": versions},
	}, nil
}

// content returns a version as a CRD has it.
func (v *Version) content() (map[string]any, error) {
	out := map[string]any{}
	if err := kubeyaml.Unmarshal([]byte(crd.Conditions), &out); err != nil {
		return nil, err
	}
	conditions := below(out, "schema", "openAPIV3Schema", "properties", "status", "properties")["conditions"]
	text, err := json.Marshal(v.Schema)
	if err != nil {
		return nil, err
	}
	root := map[string]any{}
	if err := json.Unmarshal(text, &root); err != nil {
		return nil, err
	}
	status := below(root, "properties", "status")
	status["type"] = "object"
	below(status, "properties")["conditions"] = conditions
	out["schema"] = map[string]any{"openAPIV3Schema": root}
	out["name"], out["served"], out["storage"] = v.Name, v.Served, v.Storage
	if len(v.Columns) > 0 {
		out["additionalPrinterColumns"] = v.Columns
	}
	return out, nil
}

// below returns the map under keys, which it makes if it is missing.
func below(m map[string]any, keys ...string) map[string]any {
	for _, key := range keys {
		inner, ok := m[key].(map[string]any)
		if !ok {
			inner = map[string]any{}
			m[key] = inner
		}
		m = inner
	}
	return m
}

// Anything is the schema of a field whose values are not known.
func Anything(types ...string) *spec.Schema {
	s := &spec.Schema{SchemaProps: spec.SchemaProps{Type: types}}
	s.AddExtension("x-kubernetes-preserve-unknown-fields", true)
	return s
}
