package kro

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"reconcel/convert/foreign"
	"reconcel/rules/simpleschema"
	"reconcel/rules/source"
)

// A definition is a ResourceGraphDefinition.
type definition struct {
	name      string
	node      *source.Node
	gvk       runtimeschema.GroupVersionKind
	crd       *foreign.Definition
	resources []*resource
}

// newDefinition reads a definition. It returns nil if the kind is not known.
func newDefinition(doc foreign.Document, report *foreign.Report) *definition {
	d := &definition{name: doc.Name, node: doc.Node}
	s := doc.Node.At("spec", "schema")
	d.gvk = runtimeschema.GroupVersionKind{
		Group:   cmp.Or(s.At("group").Literal().Value, group),
		Version: s.At("apiVersion").Literal().Value,
		Kind:    s.At("kind").Literal().Value,
	}
	if d.gvk.Version == "" || d.gvk.Kind == "" {
		report.Lost(doc.Node.Pos, "spec.schema", "write apiVersion and kind", "the definition has no kind")
		return nil
	}
	d.crd = &foreign.Definition{
		Group:    d.gvk.Group,
		Cluster:  s.At("scope").Literal().Value == "Cluster",
		Names:    picked(s, "shortNames", "categories"),
		Metadata: picked(s.At("metadata"), "labels", "annotations"),
		Versions: []foreign.Version{{Name: d.gvk.Version, Served: true, Storage: true, Schema: rootOf(s, report)}},
	}
	d.crd.Complete(d.gvk.Kind)
	if columns := s.At("additionalPrinterColumns"); columns != nil && columns.Kind == source.List {
		d.crd.Versions[0].Columns = columns.Plain().([]any)
	}
	if list := doc.Node.At("spec", "resources"); list != nil {
		for i, item := range list.Items {
			d.resources = append(d.resources, newResource(item, fmt.Sprintf("spec.resources[%d]", i)))
		}
	}
	return d
}

// picked returns some entries of a map, without expressions.
func picked(n *source.Node, keys ...string) map[string]any {
	out := map[string]any{}
	for _, key := range keys {
		if value := n.At(key); value != nil && (len(value.Items) > 0 || len(value.Fields) > 0) {
			out[key] = value.Plain()
		}
	}
	return out
}

// rootOf returns the schema of instances, whose status may still have any fields.
func rootOf(s *source.Node, report *foreign.Report) *spec.Schema {
	fields, _ := plain(s.At("spec")).(map[string]any)
	types, _ := plain(s.At("types")).(map[string]any)
	of, err := simpleschema.Parse(fields, types)
	if err != nil {
		pos, path := s.Pos, "spec.schema.spec"
		if wrong, ok := errors.AsType[*simpleschema.Error](err); ok {
			path += "." + strings.Join(wrong.Path, ".")
			err = errors.New(wrong.Message)
			if n := s.At(append([]string{"spec"}, wrong.Path...)...); n != nil {
				pos = n.Pos
			}
		}
		report.Lost(pos, path, "write the schema of spec into the CRD", "%v", err)
		of = foreign.Anything("object")
	}
	root := &spec.Schema{SchemaProps: spec.SchemaProps{
		Type:       spec.StringOrArray{"object"},
		Properties: map[string]spec.Schema{"spec": *of, "status": *foreign.Anything("object")},
	}}
	if of.Default == nil {
		root.Required = []string{"spec"}
	}
	return root
}

func plain(n *source.Node) any {
	if n == nil {
		return nil
	}
	return n.Plain()
}
