package change

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

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

var marks = []string{rules.AnnotationApplied, rules.AnnotationInstallation, rules.AnnotationReconciledAt}

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

// inPlaceOf returns the object that replaces another one. It was rehearsed under
// another name: its name, UID and token volume become those of the replaced object, also where
// the API server has copied them into labels.
func inPlaceOf(old, rehearsed *unstructured.Unstructured) *unstructured.Unstructured {
	names := []string{rehearsed.GetName(), old.GetName()}
	if uid := string(rehearsed.GetUID()); uid != "" {
		names = append(names, uid, string(old.GetUID()))
	}
	if a, b := tokenVolume(rehearsed), tokenVolume(old); a != "" && b != "" {
		names = append(names, a, b)
	}
	renamed := &unstructured.Unstructured{}
	text, err := rehearsed.MarshalJSON()
	if err == nil {
		err = renamed.UnmarshalJSON([]byte(strings.NewReplacer(names...).Replace(string(text))))
	}
	if err != nil {
		return rehearsed // It was decoded from JSON.
	}
	return renamed
}

// tokenVolume returns the token volume that the API server adds to a Pod, or "".
func tokenVolume(pod *unstructured.Unstructured) string {
	volumes, _, _ := unstructured.NestedSlice(pod.Object, "spec", "volumes")
	for _, v := range volumes {
		volume, _ := v.(map[string]any)
		if name, _ := volume["name"].(string); strings.HasPrefix(name, "kube-api-access-") {
			return name
		}
	}
	return ""
}

var secretKind = schema.GroupKind{Kind: "Secret"}

// Placeholders for the values of a Secret, as in kubectl diff.
const (
	masked       = "***"
	maskedBefore = "*** (before)"
	maskedAfter  = "*** (after)"
)

// digestValues returns a digest of the values of a Secret.
func digestValues(secret map[string]any) [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%q %q", secret["data"], secret["stringData"])) // fmt sorts maps.
}

// maskSecret hides the values of a Secret in both states, and keeps visible which
// values differ. Either state may be nil.
func maskSecret(before, after map[string]any) {
	for _, field := range []string{"data", "stringData"} {
		a, b := secretValues(before, field), secretValues(after, field)
		old := maps.Clone(a)
		for key, value := range a {
			if a[key] = masked; b[key] != nil && !reflect.DeepEqual(value, b[key]) {
				a[key] = maskedBefore
			}
		}
		for key, value := range b {
			if b[key] = masked; old[key] != nil && !reflect.DeepEqual(value, old[key]) {
				b[key] = maskedAfter
			}
		}
	}
}

// secretValues returns the values under a field. It masks a value that is not a map
// as a whole.
func secretValues(object map[string]any, field string) map[string]any {
	values, isMap := object[field].(map[string]any)
	if !isMap && object[field] != nil {
		object[field] = masked
	}
	return values
}
