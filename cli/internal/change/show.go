package change

import (
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"reconcel/engine/outcome"
	"reconcel/rules"
)

// show sets both states of the written object or status.
func (c *Change) show(w *written) {
	before, after := w.first.Before, w.last.After
	if c.Part == StatusPart {
		c.showStatus(before, after)
		return
	}
	if w.replacement != nil && w.replacement.After != nil {
		after = inPlaceOf(w.last.Before, w.replacement.After)
	}
	c.showObject(before, after)
}

// showObject sets the states of an object; either may be nil. If no compared field
// differs, it compares the annotations of the last apply. If these are equal
// too, only field ownership can differ.
func (c *Change) showObject(before, after *unstructured.Unstructured) {
	c.Before, c.After = comparedFields(before), comparedFields(after)
	if c.Action == outcome.Configured && reflect.DeepEqual(c.Before, c.After) {
		copyMarks(c.Before, before)
		copyMarks(c.After, after)
		switch {
		case !reflect.DeepEqual(c.Before, c.After):
			c.Reason = "the annotation of the last apply is restored"
		case reflect.DeepEqual(ownership(before), ownership(after)):
			c.Action, c.Before, c.After = outcome.Unchanged, nil, nil
			return
		default:
			c.Reason = "takes field ownership; the values stay"
		}
	}
	if c.Object.groupKind() == secretKind {
		c.values = digestValues(c.After)
		maskSecret(c.Before, c.After)
	}
}

var marks = []string{rules.AnnotationApplied, rules.AnnotationInstallation}

// copyMarks adds the annotations of the last apply to the compared fields of an
// object.
func copyMarks(compared map[string]any, from *unstructured.Unstructured) {
	for _, annotation := range marks {
		if mark, found := from.GetAnnotations()[annotation]; found {
			_ = unstructured.SetNestedField(compared, mark, "metadata", "annotations", annotation) // It was there.
		}
	}
}

// ownership returns the managedFields of an object without times.
func ownership(u *unstructured.Unstructured) []any {
	entries, _, _ := unstructured.NestedSlice(u.Object, "metadata", "managedFields") // This copies them.
	for _, e := range entries {
		if entry, ok := e.(map[string]any); ok {
			delete(entry, "time")
		}
	}
	return entries
}

// kubectl's copy of the last applied object. It would repeat the values of a
// Secret.
const annotationLastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// comparedFields returns a copy of an object without its status, and without the
// fields that the API server or an apply maintains.
func comparedFields(u *unstructured.Unstructured) map[string]any {
	if u == nil {
		return nil
	}
	out := runtime.DeepCopyJSON(u.Object)
	delete(out, "status")
	for _, field := range []string{"managedFields", "resourceVersion", "generation", "uid", "creationTimestamp",
		"deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"} {
		unstructured.RemoveNestedField(out, "metadata", field)
	}
	for _, annotation := range append([]string{annotationLastApplied}, marks...) {
		unstructured.RemoveNestedField(out, "metadata", "annotations", annotation)
	}
	if annotations, found, _ := unstructured.NestedMap(out, "metadata", "annotations"); found && len(annotations) == 0 {
		unstructured.RemoveNestedField(out, "metadata", "annotations")
	}
	return out
}
