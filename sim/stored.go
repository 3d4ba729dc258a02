package sim

import (
	"fmt"
	"maps"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"reconcel/rules/schema"
)

// Stored returns a new object as the API server stores it: in canonical form, without
// unknown fields, and with defaults. Its status is missing, except for the default of its CRD, and so is what
// the server allocates: uid, creationTimestamp and addresses. A kind that is not served is treated as a custom
// kind without a schema.
func (ks *Kinds) Stored(u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	k := ks.Kind(u.GroupVersionKind())
	if k == nil {
		k = &schema.Kind{GVK: u.GroupVersionKind(), Custom: true, Status: true}
	}
	stored, err := ks.decoded(k, u)
	if err != nil {
		return nil, ks.located(k, u, err)
	}
	ks.prepareCreate(k, stored)
	return stored, nil
}

// located returns the error of a value that has a wrong type with the field, which the
// conversion to Go's types does not name.
func (ks *Kinds) located(k *schema.Kind, u *unstructured.Unstructured, err error) error {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	converter, typesErr := ks.typesOf(k.GVK.GroupKind())
	if typesErr != nil {
		return err
	}
	if _, typed := converter.ObjectToTyped(u); typed != nil {
		return typed
	}
	return err
}

// canonical returns an object as the API server stores it. Built-in kinds are converted to
// Go's types and back, which makes quantities and base64 canonical, prunes unknown fields
// and sets defaults. managedFields are kept as they are.
func canonical(k *schema.Kind, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	managed, hasManaged := managedFields(u)
	out := InVersion(u, k.GVK)
	if typed := typeOf(k); typed != nil {
		var err error
		if out, err = throughTypes(out, typed); err != nil {
			return nil, err
		}
	} else {
		metadata, err := canonicalMetadata(out)
		if err != nil {
			return nil, err
		}
		out = out.DeepCopy()
		out.Object["metadata"] = metadata
	}
	out.SetGroupVersionKind(k.GVK)
	if metadata, ok := out.Object["metadata"].(map[string]any); ok {
		delete(metadata, "managedFields")
		if hasManaged {
			metadata["managedFields"] = managed
		}
	}
	return out, nil
}

// typeOf returns an empty object of the Go type of a kind, or nil if it has none.
func typeOf(k *schema.Kind) runtime.Object {
	if k.GVK == definitionKind.WithVersion("v1") {
		return &apiextensionsv1.CustomResourceDefinition{}
	}
	if typed, err := goTypes().New(k.GVK); err == nil && !k.Custom {
		return typed
	}
	return nil
}

// decoded returns the object in the body of a request. The body of an apply is not
// decoded like this: its nulls stay.
func (ks *Kinds) decoded(k *schema.Kind, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	u, err := canonical(k, u)
	if err == nil && k.Custom {
		ks.custom(k).conform(u)
	}
	return u, err
}

// isCustom reports whether a kind is served and defined by a CRD.
func (ks *Kinds) isCustom(gvk runtimeschema.GroupVersionKind) bool {
	k := ks.Kind(gvk)
	return k != nil && k.Custom
}

// conforming returns a copy of a custom resource with the fields and the defaults of its schema.
func (ks *Kinds) conforming(u *unstructured.Unstructured) *unstructured.Unstructured {
	u = u.DeepCopy()
	ks.custom(ks.Kind(u.GroupVersionKind())).conform(u)
	return u
}

// goTypes returns Go's types of built-in kinds. The scheme of client-go itself is global: a program can add kinds to
// it.
var goTypes = sync.OnceValue(func() *runtime.Scheme {
	types := runtime.NewScheme()
	utilruntime.Must(scheme.AddToScheme(types))
	return types
})

func managedFields(u *unstructured.Unstructured) (any, bool) {
	metadata, _ := u.Object["metadata"].(map[string]any)
	managed, ok := metadata["managedFields"]
	return managed, ok
}

func throughTypes(u *unstructured.Unstructured, typed runtime.Object) (*unstructured.Unstructured, error) {
	bare := withoutManagedFields(u)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(bare.Object, typed); err != nil {
		return nil, err
	}
	if secret, ok := typed.(*corev1.Secret); ok {
		mergeStringData(secret)
	}
	setDefaults(typed)
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		return nil, err
	}
	for name, value := range object {
		if list, ok := value.([]any); ok && len(list) == 0 {
			object[name] = nil // The storage does not keep empty lists.
		}
	}
	return &unstructured.Unstructured{Object: object}, nil
}

func mergeStringData(s *corev1.Secret) {
	if len(s.StringData) > 0 && s.Data == nil {
		s.Data = map[string][]byte{}
	}
	for key, text := range s.StringData {
		s.Data[key] = []byte(text)
	}
	s.StringData = nil
}

// withoutManagedFields returns a shallow copy without managedFields.
func withoutManagedFields(u *unstructured.Unstructured) *unstructured.Unstructured {
	metadata, ok := u.Object["metadata"].(map[string]any)
	if !ok || metadata["managedFields"] == nil {
		return u
	}
	out := &unstructured.Unstructured{Object: maps.Clone(u.Object)}
	metadata = maps.Clone(metadata)
	delete(metadata, "managedFields")
	out.Object["metadata"] = metadata
	return out
}

// canonicalMetadata returns the metadata of an object whose kind has no Go type.
func canonicalMetadata(u *unstructured.Unstructured) (map[string]any, error) {
	metadata, _ := withoutManagedFields(u).Object["metadata"].(map[string]any)
	var typed metav1.ObjectMeta
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(metadata, &typed); err != nil {
		return nil, fmt.Errorf("metadata: %w", err)
	}
	return runtime.DefaultUnstructuredConverter.ToUnstructured(&typed)
}
