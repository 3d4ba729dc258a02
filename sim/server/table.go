package server

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/sim/columns"
)

var definitions = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}

// table returns the table of some objects.
func (c *call) table(objects []*unstructured.Unstructured, meta v1.ListMeta) (*v1.Table, error) {
	of, err := c.columns()
	if err != nil {
		return nil, err
	}
	t := of.Table(objects, c.Clock.Now(), v1.IncludeObjectPolicy(c.query.Get("includeObject")))
	t.TypeMeta = v1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "Table"}
	t.ListMeta = meta
	return t, nil
}

// columns returns the columns of the kind. Those of a custom kind are in its CRD.
func (c *call) columns() (columns.Columns, error) {
	gvk := c.kind.GVK
	if !c.kind.Custom {
		return columns.Of(gvk.GroupKind()), nil
	}
	var own []any
	if definition := c.Cluster.Find(definitions, "", c.kind.Resource+"."+gvk.Group); definition != nil {
		versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
		for _, v := range versions {
			if version, _ := v.(map[string]any); version["name"] == gvk.Version {
				own, _ = version["additionalPrinterColumns"].([]any)
			}
		}
	}
	return columns.Custom(own)
}
