package decide

import (
	"crypto/sha256"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/engine/ident"
	"reconcel/engine/watch"
)

// PatchHash identifies the fields of a patch.
func PatchHash(fields []byte) [16]byte {
	sum := sha256.Sum256(fields)
	return [16]byte(sum[:16])
}

// ApplicationTo returns the body of an apply to an object.
func ApplicationTo(k ident.Kind, o *watch.Object, desired map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: desired}
	u.SetGroupVersionKind(k.GVK)
	u.SetNamespace(o.GetNamespace())
	u.SetName(o.GetName())
	return u
}
