package watch

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// GetObjectKind implements runtime.Object. Its setter has no effect.
func (o *Object) GetObjectKind() schema.ObjectKind { return (*readOnlyKind)(o) }

// DeepCopyObject implements runtime.Object. It returns the object itself, which is
// immutable.
func (o *Object) DeepCopyObject() runtime.Object { return o }

type readOnlyKind Object

// GroupVersionKind implements schema.ObjectKind.
func (k *readOnlyKind) GroupVersionKind() schema.GroupVersionKind {
	return (*Object)(k).GroupVersionKind()
}

// SetGroupVersionKind implements schema.ObjectKind.
func (k *readOnlyKind) SetGroupVersionKind(schema.GroupVersionKind) {}

// GetObjectMeta implements metav1.ObjectMetaAccessor, which client-go's stores use
// several times for each event to identify an object. It allocates nothing.
func (o *Object) GetObjectMeta() metav1.Object { return readOnlyMeta{o} }

// readOnlyMeta is the metadata of an Object. Its setters have no effect, because readers
// share the object.
type readOnlyMeta struct{ *Object }

func (readOnlyMeta) GetGenerateName() string                       { return "" }
func (readOnlyMeta) GetSelfLink() string                           { return "" }
func (readOnlyMeta) GetDeletionGracePeriodSeconds() *int64         { return nil }
func (readOnlyMeta) GetOwnerReferences() []metav1.OwnerReference   { return nil }
func (readOnlyMeta) GetManagedFields() []metav1.ManagedFieldsEntry { return nil }
func (readOnlyMeta) SetNamespace(string)                           {}
func (readOnlyMeta) SetName(string)                                {}
func (readOnlyMeta) SetGenerateName(string)                        {}
func (readOnlyMeta) SetUID(types.UID)                              {}
func (readOnlyMeta) SetResourceVersion(string)                     {}
func (readOnlyMeta) SetGeneration(int64)                           {}
func (readOnlyMeta) SetSelfLink(string)                            {}
func (readOnlyMeta) SetCreationTimestamp(metav1.Time)              {}
func (readOnlyMeta) SetDeletionTimestamp(*metav1.Time)             {}
func (readOnlyMeta) SetDeletionGracePeriodSeconds(*int64)          {}
func (readOnlyMeta) SetLabels(map[string]string)                   {}
func (readOnlyMeta) SetAnnotations(map[string]string)              {}
func (readOnlyMeta) SetFinalizers([]string)                        {}
func (readOnlyMeta) SetOwnerReferences([]metav1.OwnerReference)    {}
func (readOnlyMeta) SetManagedFields([]metav1.ManagedFieldsEntry)  {}
