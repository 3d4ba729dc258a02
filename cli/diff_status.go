package cli

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// builtInConditions follow from the result of the reconciliation, and are not
// compared.
var builtInConditions = []string{"Ready", "Reconciling", "Stalled"}

// showStatus sets the diff of the status. It stays empty if no compared field
// differs.
func (c *change) showStatus(before, after *unstructured.Unstructured) (err error) {
	c.Before, c.After = statusOf(before), statusOf(after)
	if !reflect.DeepEqual(c.Before, c.After) {
		c.Diff, err = unified(c)
	}
	return err
}

// statusOf returns the compared fields of an object's status.
func statusOf(u *unstructured.Unstructured) map[string]any {
	metadata := map[string]any{"name": u.GetName()}
	if ns := u.GetNamespace(); ns != "" {
		metadata["namespace"] = ns
	}
	out := map[string]any{"apiVersion": u.GetAPIVersion(), "kind": u.GetKind(), "metadata": metadata}
	live, _ := u.Object["status"].(map[string]any)
	shown := maps.Clone(live)
	delete(shown, "conditions")
	if list, ok := live["conditions"].([]any); ok {
		if conditions := shownConditions(list); len(conditions) > 0 {
			shown["conditions"] = conditions
		}
	}
	if len(shown) > 0 {
		out["status"] = shown
	}
	return out
}

// shownConditions returns conditions by type, without times, generations and the
// built-in types.
func shownConditions(list []any) (shown []any) {
	for _, c := range list {
		entry, ok := c.(map[string]any)
		if kind, _ := entry["type"].(string); !ok || slices.Contains(builtInConditions, kind) {
			continue
		}
		out := map[string]any{}
		for _, key := range []string{"type", "status", "reason", "message"} {
			if value, ok := entry[key]; ok && value != "" {
				out[key] = value
			}
		}
		shown = append(shown, out)
	}
	slices.SortFunc(shown, func(a, b any) int { return cmp.Compare(typeOf(a), typeOf(b)) })
	return shown
}

func typeOf(condition any) string {
	entry, _ := condition.(map[string]any)
	kind, _ := entry["type"].(string)
	return kind
}

// rulesWithStatus returns the rules that may have written the status.
func (p *primaryDiff) rulesWithStatus() string {
	var names []string
	for _, r := range p.primary.Rules {
		if len(r.StatusKeys) > 0 || len(r.Conditions) > 0 {
			names = append(names, r.Name)
		}
	}
	return strings.Join(names, ",")
}
