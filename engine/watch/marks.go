package watch

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/rules"
)

// marks are the parts of an object's metadata that differ between any two objects.
type marks struct {
	namespace, name string
	uid             types.UID
	version         string // resourceVersion
	created         string // creationTimestamp
	applied         string // the annotation; "": it has none
}

func marksOf(u *unstructured.Unstructured) marks {
	metadata, _ := u.Object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	var m marks
	for key, value := range metadata {
		m.set(key, value)
	}
	m.applied, _ = annotations[rules.AnnotationApplied].(string)
	return m
}

// set keeps a field of the metadata, if it is one of the marks.
func (m *marks) set(key string, value any) {
	text, _ := value.(string)
	switch key {
	case "namespace":
		m.namespace = text
	case "name":
		m.name = text
	case "uid":
		m.uid = types.UID(text)
	case "resourceVersion":
		m.version = text
	case "creationTimestamp":
		m.created = text
	}
}

// isMark reports whether a field of the metadata is one of the marks.
func isMark(key string) bool {
	switch key {
	case "namespace", "name", "uid", "resourceVersion", "creationTimestamp":
		return true
	}
	return false
}

// DeepCopy returns a copy of the content, with what is kept apart from it.
func (o *Object) DeepCopy() *unstructured.Unstructured {
	u := o.unstructured().DeepCopy()
	fields := map[string]string{
		"namespace": o.namespace, "name": o.name, "uid": string(o.uid), "resourceVersion": o.version,
		"creationTimestamp": o.created,
	}
	for key, text := range fields {
		if text != "" {
			_ = unstructured.SetNestedField(u.Object, text, "metadata", key) // The metadata is a map.
		}
	}
	if o.applied != "" {
		_ = unstructured.SetNestedField(u.Object, o.applied, "metadata", "annotations", rules.AnnotationApplied)
	}
	return u
}

// Holder describes the owner of the object for a message. Only an untrimmed object has
// all managers.
func (o *Object) Holder() string {
	managed, _ := o.metadata()["managedFields"].([]any)
	return rules.HolderOf(o.content, managed)
}

// WithoutBody returns the object with only its metadata.
func (o *Object) WithoutBody() *Object {
	bare := map[string]any{"apiVersion": o.content["apiVersion"], "kind": o.content["kind"],
		"metadata": o.content["metadata"]}
	withoutBody := *o
	withoutBody.content = bare
	return &withoutBody
}

// HasOwnLabel reports whether our own write set the rule's label on the object.
func (o *Object) HasOwnLabel() bool { return o.Fields().Names(rules.LabelRule) }
