package rules

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Labels, annotations and finalizers by which reconcel marks what it makes.
const (
	LabelRule         = "reconcel.dev/rule"
	LabelChild        = "reconcel.dev/child"
	AnnotationApplied = "reconcel.dev/applied" // hash of the rendering that was last applied
	// AnnotationInstallation is the namespace/name of the installation that
	// applied the object last.
	AnnotationInstallation = "reconcel.dev/installation"
	AnnotationOwner        = "reconcel.dev/owner"  // UID/Kind.group/namespace/name of the primary, where no owner reference may stand
	AnnotationOrphan       = "reconcel.dev/orphan" // "true": the object stays when its primary goes
	AnnotationPaused       = "reconcel.dev/paused" // on a primary: see Paused
	finalizerPrefix        = reserved
)

// reserved begins the keys of all labels and annotations of ours.
const reserved = "reconcel.dev/"

// Finalizer returns the finalizer that a primary carries for a rule that has
// something to do before it goes.
func Finalizer(rule string) string { return finalizerPrefix + rule }

// ownMarks are the keys that reconcel itself sets.
var ownMarks = []string{LabelRule, LabelChild, AnnotationApplied, AnnotationInstallation, AnnotationOwner, AnnotationOrphan}

// Marks returns what of the body of an apply says whose the object is, and
// nothing of what it should be like: an object that is adopted and then left
// alone is only marked.
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
	out.SetLabels(only(o.GetLabels(), LabelRule, LabelChild))
	out.SetAnnotations(only(o.GetAnnotations(), AnnotationApplied, AnnotationInstallation, AnnotationOwner, AnnotationOrphan))
	return json.Marshal(out.Object)
}

// only returns the entries of a map that have one of the keys.
func only(all map[string]string, keys ...string) map[string]string {
	out := map[string]string{}
	for _, key := range keys {
		if value, ok := all[key]; ok {
			out[key] = value
		}
	}
	return out
}
