package change

import (
	"cmp"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/rules"
)

// builtInConditions follow from the result of the reconciliation, and are not
// compared.
var builtInConditions = []string{"Ready", "Reconciling", "Stalled"}

// showStatus sets both states of the status. They stay nil if no compared field
// differs.
func (c *Change) showStatus(before, after *unstructured.Unstructured) {
	c.Before, c.After = comparedStatus(before), comparedStatus(after)
	compareAnnotation(c.Before, before, after)
	compareAnnotation(c.After, after, before)
	if reflect.DeepEqual(c.Before, c.After) {
		c.Before, c.After = nil, nil
	}
}

// compareAnnotation adds the annotation that reports the status to the compared fields of
// one of two objects, if the other one does not have it. Its value follows from the result
// of the reconciliation, like the built-in conditions.
func compareAnnotation(compared map[string]any, of, other *unstructured.Unstructured) {
	value, found := of.GetAnnotations()[rules.AnnotationStatus]
	if _, both := other.GetAnnotations()[rules.AnnotationStatus]; found && !both {
		_ = unstructured.SetNestedField(compared, value, "metadata", "annotations",
			rules.AnnotationStatus) // metadata is a map.
	}
}

// comparedStatus returns the compared fields of an object's status.
func comparedStatus(u *unstructured.Unstructured) map[string]any {
	metadata := map[string]any{"name": u.GetName()}
	if ns := u.GetNamespace(); ns != "" {
		metadata["namespace"] = ns
	}
	out := map[string]any{"apiVersion": u.GetAPIVersion(), "kind": u.GetKind(), "metadata": metadata}
	live, _ := u.Object["status"].(map[string]any)
	status := maps.Clone(live)
	delete(status, "conditions")
	list, _ := live["conditions"].([]any)
	if conditions := comparedConditions(list); len(conditions) > 0 {
		status["conditions"] = conditions
	}
	if len(status) > 0 {
		out["status"] = status
	}
	return out
}

// comparedConditions returns conditions by type, without times, generations and
// the built-in types.
func comparedConditions(list []any) (all []any) {
	for _, c := range list {
		entry, ok := c.(map[string]any)
		if !ok || slices.Contains(builtInConditions, typeOf(entry)) {
			continue
		}
		out := map[string]any{}
		for _, key := range []string{"type", "status", "reason", "message"} {
			if value, ok := entry[key]; ok && value != "" {
				out[key] = value
			}
		}
		all = append(all, out)
	}
	slices.SortFunc(all, func(a, b any) int { return cmp.Compare(typeOf(a), typeOf(b)) })
	return all
}

func typeOf(condition any) string {
	entry, _ := condition.(map[string]any)
	text, _ := entry["type"].(string)
	return text
}
