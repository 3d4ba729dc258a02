package rules

import (
	"maps"
	"strings"
)

// visible returns the primary with this metadata as rules see it, without AnnotationStatus and what
// reconcel remembers with DonePrefix. These annotations say what came of earlier reconciliations: a
// rule that copies the annotations of its primary would otherwise render something else after each
// of them, and never come to rest.
func visible(self, metadata map[string]any) map[string]any {
	annotations := mapAt(metadata, "annotations")
	if !hidesAny(annotations) {
		return self
	}
	self, metadata, annotations = maps.Clone(self), maps.Clone(metadata), maps.Clone(annotations)
	maps.DeleteFunc(annotations, func(key string, _ any) bool { return isHidden(key) })
	self["metadata"], metadata["annotations"] = metadata, annotations
	if len(annotations) == 0 { // As on an object without any.
		delete(metadata, "annotations")
	}
	return self
}

func hidesAny(annotations map[string]any) bool {
	for key := range annotations {
		if isHidden(key) {
			return true
		}
	}
	return false
}

func isHidden(annotation string) bool {
	return annotation == AnnotationStatus || strings.HasPrefix(annotation, DonePrefix)
}
