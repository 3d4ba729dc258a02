package rules

import "maps"

// visible returns the input without AnnotationStatus on the primary. The annotation says
// what came of the last reconciliation: a rule that copies the annotations of its primary
// would otherwise render something else after each report, and never come to rest.
func (in Input) visible() Input {
	if _, reported := mapAt(in.Self, "metadata", "annotations")[AnnotationStatus]; !reported {
		return in
	}
	in.Self = maps.Clone(in.Self)
	metadata := maps.Clone(mapAt(in.Self, "metadata"))
	annotations := maps.Clone(mapAt(metadata, "annotations"))
	delete(annotations, AnnotationStatus)
	in.Self["metadata"], metadata["annotations"] = metadata, annotations
	if len(annotations) == 0 { // As on an object without any.
		delete(metadata, "annotations")
	}
	return in
}
