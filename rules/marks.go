package rules

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
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
	// AnnotationStatus on a primary whose kind has no conditions is the status, reason and
	// message of Ready as JSON, if a rule asks for it.
	AnnotationStatus = "reconcel.dev/status"
	// AnnotationShared is "true" on an object that several primaries may share. Each of them
	// has an annotation there of its own, see Share.
	AnnotationShared = "reconcel.dev/shared"
	finalizerPrefix  = reserved
)

// reserved is the prefix of reconcel's own labels and annotations.
const reserved = "reconcel.dev/"

// Finalizer returns the finalizer that a rule sets on a primary to act before the
// primary is deleted.
func Finalizer(rule string) string { return finalizerPrefix + rule }

// ownMarks are the keys that reconcel itself sets.
var ownMarks = []string{LabelRule, LabelChild, AnnotationApplied, AnnotationInstallation, AnnotationOwner,
	AnnotationOrphan, AnnotationIndex, AnnotationRotated, AnnotationStatus, AnnotationShared}

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
		AnnotationOrphan, AnnotationIndex))
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
