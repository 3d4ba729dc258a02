package server

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/sim/columns"
)

var definitions = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}

// tableOf returns the table of a list.
func (c *call) tableOf(objects []*unstructured.Unstructured, meta v1.ListMeta) *v1.Table {
	t := c.columns().Table(objects, c.Clock.Now(), v1.IncludeObjectPolicy(c.query.Get("includeObject")))
	t.ListMeta = meta
	return t
}

// tableOfOne returns the table of one object.
func (c *call) tableOfOne(u *unstructured.Unstructured) *v1.Table {
	return c.columns().TableOfOne(u, c.Clock.Now(), v1.IncludeObjectPolicy(c.query.Get("includeObject")))
}

// columns returns the columns of the kind. Those of a custom kind are in its CRD.
func (c *call) columns() columns.Columns {
	gvk := c.kind.GVK
	if !c.kind.Custom {
		return columns.Of(gvk.GroupKind())
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
	of, err := columns.Custom(own)
	if err != nil {
		c.Problem(err) // The columns before the wrong one are shown, as by the API server.
	}
	return of
}
