package syntax

import (
	"slices"

	"reconcel/rules/source"
)

var commonMetadataShape = source.Shape{
	Doc: "Labels and annotations that all objects of a rule have. Selectors and Pod templates stay as the templates " +
		"have them, and so does an object that only a `patch` writes.",
	Keys: []source.Key{
		{Name: "labels", Value: marksData, Doc: "Labels of all objects. A label that a template has takes precedence, " +
			"also if its value is `null` or absent."},
		{Name: "annotations", Value: marksData, Doc: "Annotations of all objects. An annotation that a template has takes " +
			"precedence, also if its value is `null` or absent."},
	},
	More: source.Schema{MinProperties: 1},
}

// readCommonMetadata reads the labels and annotations of all objects of a rule. It omits other keys.
func readCommonMetadata(v source.Value) *source.Node {
	if v.Missing() || v.Broken() {
		return nil
	}
	checkLabelsAndAnnotations(v, "%s cannot be common to all objects: only labels and annotations can")
	if !v.IsMap() {
		return nil
	}
	d := v.Data()
	d.Fields = slices.DeleteFunc(d.Fields, func(f source.Field) bool {
		return commonMetadataShape.Find(f.Key.Value) == nil || f.Value.Kind == source.Null
	})
	return d
}
