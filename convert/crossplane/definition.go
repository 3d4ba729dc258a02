package crossplane

import (
	"encoding/json"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"reconcel/convert/foreign"
	"reconcel/rules/source"
)

const group = "apiextensions.crossplane.io"

// A composite is a kind of composite resources.
type composite struct {
	crd *foreign.Definition
}

// newComposite reads a CompositeResourceDefinition.
func newComposite(doc foreign.Document, report *foreign.Report) *composite {
	s := doc.Node.At("spec")
	kind := s.At("names", "kind").Literal().Value
	names, _ := s.At("names").Plain().(map[string]any)
	scope := s.At("scope").Literal().Value
	d := &foreign.Definition{
		Group:   s.At("group").Literal().Value,
		Names:   names,
		Cluster: scope == "Cluster" || scope == "LegacyCluster" || scope == "" && doc.GVK.Version == "v1",
	}
	d.Complete(kind)
	stored := false
	if list := s.At("versions"); list != nil {
		for _, v := range list.Items {
			version := foreign.Version{Name: v.At("name").Literal().Value, Served: isTrue(v.At("served")),
				Schema: rootOf(v, report)}
			version.Storage = !stored && isTrue(v.At("referenceable"))
			stored = stored || version.Storage
			if columns := v.At("additionalPrinterColumns"); columns != nil {
				version.Columns, _ = columns.Plain().([]any)
			}
			d.Versions = append(d.Versions, version)
		}
	}
	for key, instead := range map[string]string{
		"claimNames":             "create the composite resources themselves",
		"defaultCompositionRef":  "choose in for.when of the rules which resources they are for",
		"enforcedCompositionRef": "choose in for.when of the rules which resources they are for",
		"conversion":             "add the webhook to the CRD",
		"connectionSecretKeys":   "leave keys out of the child that is the connection Secret",
	} {
		if n := s.At(key); n != nil {
			report.Lost(n.Pos, "spec."+key, instead, "has no counterpart")
		}
	}
	if d.Group == "" || kind == "" || len(d.Versions) == 0 {
		report.Lost(doc.Node.Pos, "spec", "write group, names and versions", "the definition has no kind")
		return nil
	}
	return &composite{crd: d}
}

func isTrue(n *source.Node) bool { return n != nil && n.Value == true }

// rootOf returns the schema of a version.
func rootOf(version *source.Node, report *foreign.Report) *spec.Schema {
	root := &spec.Schema{}
	n := version.At("schema", "openAPIV3Schema")
	if n == nil {
		root.Type = spec.StringOrArray{"object"}
		root.AddExtension("x-kubernetes-preserve-unknown-fields", true)
		return root
	}
	text, err := json.Marshal(n.Plain())
	if err == nil {
		err = json.Unmarshal(text, root)
	}
	if err != nil {
		report.Lost(n.Pos, "spec.versions.schema.openAPIV3Schema", "correct the schema", "%v", err)
	}
	if root.Properties == nil {
		root.Properties = map[string]spec.Schema{}
	}
	if _, ok := root.Properties["status"]; !ok {
		root.Properties["status"] = spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"object"}}}
	}
	return root
}

// version returns the schema of a version, or nil.
func (c *composite) version(name string) *spec.Schema {
	for _, v := range c.crd.Versions {
		if v.Name == name {
			return v.Schema
		}
	}
	return nil
}

// gvks returns the kinds of all versions.
func (c *composite) gvks() (all []runtimeschema.GroupVersionKind) {
	for _, v := range c.crd.Versions {
		all = append(all, runtimeschema.GroupVersionKind{Group: c.crd.Group, Version: v.Name,
			Kind: c.crd.Names["kind"].(string)})
	}
	return all
}
