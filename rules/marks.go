package rules

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

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
