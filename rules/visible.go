package rules

import (
	"maps"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
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

// LabelManagedBy says which program manages an object. On objects that reconcel keeps for itself,
// it is ManagedBy.
const (
	LabelManagedBy = "app.kubernetes.io/managed-by"
	ManagedBy      = "reconcel"
)

// InventorySuffix ends the name of the ConfigMap that is the inventory of an installation.
const InventorySuffix = "-inventory"

// RevisionsSuffix is in the names of the ConfigMaps that have the text of an installation's rules. Those but
// the first have a number after it.
const RevisionsSuffix = "-revisions"

var internalName = regexp.MustCompile(`(` + InventorySuffix + `|` + RevisionsSuffix + `(-\d+)?)$`)

// isInternal reports whether reconcel keeps an object for itself: the inventory, the text of the rules or the
// Lease of an installation, or the ConfigMap of a bundle. No rule selects it, because each reconciliation could
// change it. The child of a rule is not internal, even if its template has the same labels.
func isInternal(gk schema.GroupKind, object map[string]any) bool {
	labels := LabelsOf(object)
	if labels.Has(LabelRule) {
		return false
	}
	switch gk {
	case BundleObject.GroupKind():
		name, _ := mapAt(object, "metadata")["name"].(string)
		managed := labels.Get(LabelManagedBy) == ManagedBy && internalName.MatchString(name)
		return managed || labels.Has(LabelBundle)
	case schema.GroupKind{Group: "coordination.k8s.io", Kind: "Lease"}:
		return labels.Get(LabelManagedBy) == ManagedBy
	}
	return false
}
