package cli

import (
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/engine"
	"reconcel/rules"
)

// A change is what run would do to one object. It is part of the output of -o json.
type change struct {
	Primary objectRef      `json:"primary"`
	Rule    string         `json:"rule"`
	Child   string         `json:"child,omitempty"`
	Object  objectRef      `json:"object"`
	Part    part           `json:"part,omitempty"`
	Action  engine.Action  `json:"action"`
	Diff    string         `json:"diff,omitempty"`
	Before  map[string]any `json:"before,omitempty"`
	After   map[string]any `json:"after,omitempty"`
	Reason  string         `json:"reason,omitempty"`

	// forbidden: the user of diff lacks the permission. run may have it.
	forbidden bool
}

// A part is the part of a primary that is written; "" is a whole object.
type part string

const (
	partFinalizers part = "finalizers"
	partPatch      part = "patch"
	partStatus     part = "status"
)

// An objectRef names an object.
type objectRef struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name,omitempty"` // "" if not known
}

func refOf(o *unstructured.Unstructured) objectRef {
	return objectRef{o.GetAPIVersion(), o.GetKind(), o.GetNamespace(), o.GetName()}
}

// String returns KIND/NAMESPACE/NAME, also for the headers of a diff.
func (r objectRef) String() string {
	parts := []string{r.Kind}
	for _, part := range []string{r.Namespace, r.Name} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "/")
}

func (r objectRef) groupKind() schema.GroupKind {
	return schema.FromAPIVersionAndKind(r.APIVersion, r.Kind).GroupKind()
}

func differs(changes []change) bool {
	return slices.ContainsFunc(changes, func(c change) bool { return c.Action.IsDifference() })
}

// troubled reports whether run would be refused or fail on any object.
func troubled(changes []change) bool {
	return slices.ContainsFunc(changes, func(c change) bool { return c.Action.IsTrouble() })
}

// show sets the diff of an object; either state may be nil. If no compared field
// differs, it compares the annotations of the last apply. If these are equal too,
// only field ownership can differ.
func (c *change) show(before, after map[string]any) error {
	c.Before, c.After = compared(before), compared(after)
	if c.Action == engine.Configured && reflect.DeepEqual(c.Before, c.After) {
		c.Before, c.After = withMarks(c.Before, before), withMarks(c.After, after)
		switch same := reflect.DeepEqual(c.Before, c.After); {
		case !same:
			c.Reason = "the annotation of the last apply is restored"
		case reflect.DeepEqual(ownership(before), ownership(after)):
			c.Action, c.Before, c.After = engine.Unchanged, nil, nil
			return nil
		default:
			c.Reason = "takes field ownership; the values stay"
		}
	}
	if c.Object.groupKind() == secretKind {
		maskSecret(c.Before, c.After)
	}
	text, err := unified(c)
	c.Diff = text
	return err
}

// withMarks adds the annotations of the last apply to the compared fields of an
// object.
func withMarks(compared, object map[string]any) map[string]any {
	out := runtime.DeepCopyJSON(compared)
	for _, annotation := range []string{rules.AnnotationApplied, rules.AnnotationInstallation} {
		if mark, found, err := unstructured.NestedString(object, "metadata", "annotations", annotation); found && err == nil {
			_ = unstructured.SetNestedField(out, mark, "metadata", "annotations", annotation) // It was there.
		}
	}
	return out
}

// ownership returns the managedFields of an object without times.
func ownership(object map[string]any) []any {
	entries, _, _ := unstructured.NestedSlice(object, "metadata", "managedFields")
	for _, e := range entries {
		if entry, ok := e.(map[string]any); ok {
			delete(entry, "time")
		}
	}
	return entries
}

// notCompared are the fields that the API server or an apply maintains.
var notCompared = [][]string{
	{"metadata", "managedFields"}, {"metadata", "resourceVersion"}, {"metadata", "generation"}, {"metadata", "uid"},
	{"metadata", "creationTimestamp"}, {"metadata", "deletionTimestamp"}, {"metadata", "deletionGracePeriodSeconds"},
	{"metadata", "selfLink"},
	{"metadata", "annotations", rules.AnnotationApplied}, {"metadata", "annotations", rules.AnnotationInstallation},
	{"metadata", "annotations", annotationLastApplied},
}

// compared returns a copy of an object with the fields to compare. statusOf does so
// for a status.
func compared(object map[string]any) map[string]any {
	if object == nil {
		return nil
	}
	out := runtime.DeepCopyJSON(object)
	for _, path := range notCompared {
		unstructured.RemoveNestedField(out, path...)
	}
	delete(out, "status")
	if metadata, ok := out["metadata"].(map[string]any); ok {
		if annotations, ok := metadata["annotations"].(map[string]any); ok && len(annotations) == 0 {
			delete(metadata, "annotations")
		}
	}
	return out
}

// kubectl's copy of the last applied object. It would repeat the values of a
// Secret.
const annotationLastApplied = "kubectl.kubernetes.io/last-applied-configuration"

var secretKind = schema.GroupKind{Kind: "Secret"}

// Placeholders for the values of a Secret, as in kubectl diff.
const (
	masked       = "***"
	maskedBefore = "*** (before)"
	maskedAfter  = "*** (after)"
)

// maskSecret hides the values of a Secret in both states, and keeps visible which
// values differ. Either state may be nil.
func maskSecret(before, after map[string]any) {
	for _, field := range []string{"data", "stringData"} {
		a, b := secretValues(before, field), secretValues(after, field)
		for key, value := range a {
			other, both := b[key]
			switch {
			case !both:
				a[key] = masked
			case reflect.DeepEqual(value, other):
				a[key], b[key] = masked, masked
			default:
				a[key], b[key] = maskedBefore, maskedAfter
			}
		}
		for key := range b {
			if _, both := a[key]; !both {
				b[key] = masked
			}
		}
	}
}

// secretValues returns the values under a field. It masks a value that is not a map
// as a whole.
func secretValues(object map[string]any, field string) map[string]any {
	switch values := object[field].(type) {
	case nil:
		return nil
	case map[string]any:
		return values
	default:
		object[field] = masked
		return nil
	}
}
