package rules

import (
	"encoding/json"
	"maps"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"reconcel/rules/syntax"
)

// Labels, annotations and finalizers that mark reconcel's objects.
const (
	LabelRule         = "reconcel.dev/rule"
	LabelChild        = "reconcel.dev/child"
	AnnotationApplied = "reconcel.dev/applied" // hash of the rendering that was last applied
	// AnnotationInstallation is the namespace/name of the installation that last
	// applied the object.
	AnnotationInstallation = "reconcel.dev/installation"
	// AnnotationOwner is UID/Kind.group/namespace/name of the primary, if an owner reference is not
	// possible; with /reference at its end, beside one.
	AnnotationOwner  = "reconcel.dev/owner"
	AnnotationOrphan = "reconcel.dev/orphan" // "true": the object stays when its primary is deleted
	// AnnotationIndex is the index of an object among those of a child with order:
	// sequential. It says in which order they are deleted when no rule renders them.
	AnnotationIndex = "reconcel.dev/index"
	// AnnotationRotate on a Secret asks for new generated values whenever its value
	// changes. AnnotationRotated is the value for which they were last made.
	AnnotationRotate  = "reconcel.dev/rotate"
	AnnotationRotated = "reconcel.dev/rotated"
	AnnotationPaused  = "reconcel.dev/paused" // on a primary: see Paused
	// AnnotationReconcileAt on a primary asks to reconcile it now, once for each value.
	// AnnotationReconciledAt on a child is the value for which it was last applied, see RequestOf.
	AnnotationReconcileAt  = "reconcel.dev/reconcile-at"
	AnnotationReconciledAt = "reconcel.dev/reconciled-at"
	// AnnotationApprove on a Rules object approves held changes of its rules.
	AnnotationApprove = syntax.AnnotationApprove
	// AnnotationStatus on a primary whose kind has no conditions is the status, reason and
	// message of Ready as JSON, if a rule asks for it.
	AnnotationStatus = "reconcel.dev/status"
	// AnnotationShared is on an object that several primaries may share: SharedOwn, or SharedExtended. Each
	// of them has an annotation there of its own, see Share.
	AnnotationShared = "reconcel.dev/shared"
	// AnnotationCreated is "true" on an object with SharedExtended that reconcel has created, so that it is
	// deleted with its last primary. Without it, the object may be one of others, and stays.
	AnnotationCreated = "reconcel.dev/created"
	finalizerPrefix   = reserved
)

// Values of AnnotationShared: reconcel has created the object, or it may be one of others.
const (
	SharedOwn      = "true"
	SharedExtended = "extended"
)

// reserved is the prefix of reconcel's own labels and annotations.
const reserved = "reconcel.dev/"

// Finalizer returns the finalizer that a rule sets on a primary to act before the
// primary is deleted.
func Finalizer(rule string) string { return finalizerPrefix + rule }

// ownMarks are the keys that reconcel itself sets.
var ownMarks = []string{LabelRule, LabelChild, AnnotationApplied, AnnotationInstallation, AnnotationOwner,
	AnnotationOrphan, AnnotationIndex, AnnotationRotated, AnnotationStatus, AnnotationShared, AnnotationCreated,
	AnnotationReconciledAt}

// Marks returns the part of an apply's body that identifies the owner of the
// object, without its content. For an object that is adopted and then left
// unchanged, reconcel writes nothing else.
func Marks(body []byte) ([]byte, error) {
	var o, out unstructured.Unstructured
	if err := utiljson.Unmarshal(body, &o.Object); err != nil {
		return nil, err
	}
	out.SetGroupVersionKind(o.GroupVersionKind())
	out.SetNamespace(o.GetNamespace())
	out.SetName(o.GetName())
	out.SetUID(o.GetUID())
	out.SetResourceVersion(o.GetResourceVersion())
	out.SetOwnerReferences(o.GetOwnerReferences())
	out.SetLabels(selectKeys(o.GetLabels(), LabelRule, LabelChild))
	out.SetAnnotations(selectKeys(o.GetAnnotations(), AnnotationApplied, AnnotationInstallation, AnnotationOwner,
		AnnotationOrphan, AnnotationIndex, AnnotationReconciledAt))
	return json.Marshal(out.Object)
}

func selectKeys(all map[string]string, keys ...string) map[string]string {
	out := map[string]string{}
	for _, key := range keys {
		if value, ok := all[key]; ok {
			out[key] = value
		}
	}
	return out
}

// visible returns the primary with this metadata as rules see it, without AnnotationStatus, what
// reconcel remembers with DonePrefix, and AnnotationReconcileAt. The first two say what came of earlier
// reconciliations: a rule that copies the annotations of its primary would otherwise render something
// else after each of them, and never come to rest. A request to reconcile changes no rendering either.
func visible(self, metadata, annotations map[string]any) map[string]any {
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
	return annotation == AnnotationStatus || annotation == AnnotationReconcileAt ||
		strings.HasPrefix(annotation, DonePrefix)
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
	isLease := gk == schema.GroupKind{Group: "coordination.k8s.io", Kind: "Lease"}
	if !isLease && gk != BundleObject.GroupKind() {
		return false
	}
	labels := LabelsOf(object)
	managed := labels.Get(LabelManagedBy) == ManagedBy
	switch {
	case labels.Has(LabelRule):
		return false
	case isLease:
		return managed
	}
	name, _ := mapAt(object, "metadata")["name"].(string)
	return labels.Has(LabelBundle) || managed && internalName.MatchString(name)
}
