package ruletest

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/engine/managedfields"
	"reconcel/internal/yamltext"
)

// comparedFields returns the parts of a value that are compared with the wanted one: the
// wanted fields, and all items of lists, because an extra item is a difference.
func comparedFields(want, got any) any {
	switch want := want.(type) {
	case map[string]any:
		fields, ok := got.(map[string]any)
		if !ok {
			return got
		}
		out := map[string]any{}
		for key, w := range want {
			if g, there := fields[key]; there && (w != nil || g != nil) {
				out[key] = comparedFields(w, g)
			}
		}
		return out
	case []any:
		list, ok := got.([]any)
		if !ok {
			return got
		}
		out := make([]any, len(list))
		for i := range list {
			out[i] = list[i]
			if i < len(want) {
				out[i] = comparedFields(want[i], list[i])
			}
		}
		return out
	}
	return asInteger(got)
}

// withoutNulls returns the wanted value without fields that are null, which must be
// absent.
func withoutNulls(want any) any {
	switch want := want.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, w := range want {
			if w != nil {
				out[key] = withoutNulls(w)
			}
		}
		return out
	case []any:
		out := make([]any, len(want))
		for i := range want {
			out[i] = withoutNulls(want[i])
		}
		return out
	}
	return asInteger(want)
}

// asInteger converts a float without a fraction to an integer, so that 1.0 equals 1.
func asInteger(value any) any {
	if f, ok := value.(float64); ok && f == float64(int64(f)) {
		return int64(f)
	}
	return value
}

// diffFields returns the diff, as YAML, of the wanted fields and a value, or "".
func diffFields(want, got any) string {
	return diffValues(withoutNulls(want), comparedFields(want, got))
}

func diffValues(want, got any) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return diffTexts(asYAML(want), asYAML(got))
}

// diffTexts returns the unified diff of two texts.
func diffTexts(want, got string) string {
	var b strings.Builder
	_ = difflib.WriteUnifiedDiff(&b, difflib.UnifiedDiff{ // Writes to a Builder do not fail.
		A: slices.Collect(strings.Lines(want)), B: slices.Collect(strings.Lines(got)), FromFile: "want", ToFile: "got",
		Context: 3,
	})
	return b.String()
}

func asYAML(value any) string {
	text, err := yamltext.Marshal(value)
	if err != nil {
		return err.Error() + "\n"
	}
	return string(text)
}

// ownMark is the prefix of reconcel's own labels and annotations.
const ownMark = "reconcel.dev/"

// dropMarks removes reconcel's labels and annotations from an object, except the
// wanted ones.
func dropMarks(object, want map[string]any) {
	for _, field := range []string{"labels", "annotations"} {
		marks, _, _ := unstructured.NestedMap(object, "metadata", field)
		asked, _, _ := unstructured.NestedMap(want, "metadata", field)
		before := len(marks)
		maps.DeleteFunc(marks, func(key string, _ any) bool {
			_, wanted := asked[key]
			return strings.HasPrefix(key, ownMark) && !wanted
		})
		switch {
		case len(marks) == before:
		case len(marks) == 0 && asked == nil:
			unstructured.RemoveNestedField(object, "metadata", field)
		default:
			_ = unstructured.SetNestedMap(object, marks, "metadata", field) // Cannot fail: the field is already a map.
		}
	}
}

// diffRuled returns the diff, as YAML, of the wanted object and all fields
// that rules have set, or "".
func diffRuled(want map[string]any, got *unstructured.Unstructured) string {
	all := ruledFields(got)
	dropMarks(all, want)
	if _, asked, _ := unstructured.NestedFieldNoCopy(want, "metadata", "ownerReferences"); !asked {
		unstructured.RemoveNestedField(all, "metadata", "ownerReferences")
	}
	return diffValues(withoutNulls(want), all)
}

// ruledFields returns the fields of an object that the controller has set, without its
// status, plus its kind, namespace and name.
func ruledFields(u *unstructured.Unstructured) map[string]any {
	set := managedfields.ChildEntry(u.Object).Set()
	for _, patch := range managedfields.ManagersOf(u.Object).Patches() {
		set = set.Union(patch.Set())
	}
	out := &unstructured.Unstructured{Object: set.Select(u.Object).(map[string]any)}
	out.SetAPIVersion(u.GetAPIVersion())
	out.SetKind(u.GetKind())
	if u.GetName() != "" {
		out.SetName(u.GetName())
	}
	if u.GetNamespace() != "" {
		out.SetNamespace(u.GetNamespace())
	}
	return out.Object
}
