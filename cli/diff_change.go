package cli

import (
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules"
)

// A change is what run would do about one object. It is part of the output of
// -o json.
type change struct {
	Primary objectRef      `json:"primary"`
	Rule    string         `json:"rule"`
	Child   string         `json:"child,omitempty"`
	Object  objectRef      `json:"object"`
	Action  action         `json:"action"`
	Diff    string         `json:"diff,omitempty"`
	Before  map[string]any `json:"before,omitempty"`
	After   map[string]any `json:"after,omitempty"`
	Reason  string         `json:"reason,omitempty"`
}

// An action is what is done about an object.
type action string

const (
	actionCreate  action = "create"
	actionUpdate  action = "update"
	actionReplace action = "replace" // deleted and created anew
	actionDelete  action = "delete"
	actionPatch   action = "patch"  // of the primary itself
	actionStatus  action = "status" // likewise
	actionNone    action = "none"   // for the reason given

	// The API server rejects the write, or somebody else holds the name.
	actionRefused action = "refused"
	// The rule fails for the primary, which would be Stalled.
	actionFailed action = "failed"
)

// An objectRef names an object.
type objectRef struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name,omitempty"` // "" where it is not known
}

func refOf(o *liveObject) objectRef {
	return objectRef{o.GetAPIVersion(), o.GetKind(), o.GetNamespace(), o.GetName()}
}

// String names the object for people, and in the headers of a diff.
func (r objectRef) String() string {
	parts := []string{r.Kind}
	for _, part := range []string{r.Namespace, r.Name} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "/")
}

// isWrite reports whether run would change the object.
func (a action) isWrite() bool { return a != actionNone && !a.isTrouble() }

// isTrouble reports whether run would not get what the rules want.
func (a action) isTrouble() bool { return a == actionRefused || a == actionFailed }

// differs reports whether run would change anything.
func differs(changes []change) bool {
	return slices.ContainsFunc(changes, func(c change) bool { return c.Action.isWrite() })
}

// troubled reports whether something is refused or fails.
func troubled(changes []change) bool {
	return slices.ContainsFunc(changes, func(c change) bool { return c.Action.isTrouble() })
}

// add keeps a change of an object, unless it changes nothing that counts. nil
// stands for no object.
func (p *diffPass) add(c change, what action, before, after map[string]any) {
	c.Action = what
	c.Before, c.After = compared(before, what), compared(after, what)
	if what != actionCreate && what != actionDelete && what != actionReplace && reflect.DeepEqual(c.Before, c.After) {
		return
	}
	gk := schema.FromAPIVersionAndKind(c.Object.APIVersion, c.Object.Kind).GroupKind()
	if gk == secretKind {
		maskSecret(c.Before, c.After)
	}
	text, err := unified(&c)
	if err != nil {
		p.fail(err)
		return
	}
	c.Diff = text
	p.changes = append(p.changes, c)
}

// notCompared are the fields that the API server keeps books in.
var notCompared = [][]string{
	{"metadata", "managedFields"}, {"metadata", "resourceVersion"}, {"metadata", "generation"}, {"metadata", "uid"},
	{"metadata", "creationTimestamp"}, {"metadata", "deletionTimestamp"}, {"metadata", "deletionGracePeriodSeconds"},
	{"metadata", "selfLink"},
	{"metadata", "annotations", rules.AnnotationApplied}, {"metadata", "annotations", rules.AnnotationInstallation},
	{"metadata", "annotations", annotationLastApplied},
}

// compared returns a copy of an object with what counts in a comparison.
func compared(object map[string]any, what action) map[string]any {
	if object == nil {
		return nil
	}
	out := runtime.DeepCopyJSON(object)
	for _, path := range notCompared {
		unstructured.RemoveNestedField(out, path...)
	}
	if what != actionStatus {
		delete(out, "status")
	}
	if metadata, ok := out["metadata"].(map[string]any); ok {
		if annotations, ok := metadata["annotations"].(map[string]any); ok && len(annotations) == 0 {
			delete(metadata, "annotations")
		}
	}
	return out
}

// What stands in the place of a Secret's values, as in kubectl diff.
const (
	masked       = "***"
	maskedBefore = "*** (before)"
	maskedAfter  = "*** (after)"
)

// maskSecret hides the values of a Secret in both of its states, either of
// which may be nil, and leaves visible which of them differ.
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

// secretValues returns the values under a field. What is no map is hidden as a
// whole.
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
