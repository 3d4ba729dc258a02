package rules

import "maps"

// visible returns the primary with this metadata as rules see it, without AnnotationStatus.
// The annotation says what came of the last reconciliation: a rule that copies the annotations
// of its primary would otherwise render something else after each report, and never come to
// rest.
func visible(self, metadata map[string]any) map[string]any {
	if _, reported := mapAt(metadata, "annotations")[AnnotationStatus]; !reported {
		return self
	}
	self, metadata = maps.Clone(self), maps.Clone(metadata)
	annotations := maps.Clone(mapAt(metadata, "annotations"))
	delete(annotations, AnnotationStatus)
	self["metadata"], metadata["annotations"] = metadata, annotations
	if len(annotations) == 0 { // As on an object without any.
		delete(metadata, "annotations")
	}
	return self
}
