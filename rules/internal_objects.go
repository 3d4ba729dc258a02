package rules

import (
	"regexp"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

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
