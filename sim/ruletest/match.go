package ruletest

import (
	"maps"
	"reflect"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// seen returns of a value what is compared with the wanted one: the fields that
// are wanted, and of lists everything that the wanted one has no item for.
func seen(want, got any) any {
	switch want := want.(type) {
	case map[string]any:
		fields, ok := got.(map[string]any)
		if !ok {
			return got
		}
		out := map[string]any{}
		for key, w := range want {
			if g, there := fields[key]; there && (w != nil || g != nil) {
				out[key] = seen(w, g)
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
				out[i] = seen(want[i], list[i])
			}
		}
		return out
	}
	return number(got)
}

// wanted returns the wanted value without the fields that are to be absent.
func wanted(want any) any {
	switch want := want.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, w := range want {
			if w != nil {
				out[key] = wanted(w)
			}
		}
		return out
	case []any:
		out := make([]any, len(want))
		for i := range want {
			out[i] = wanted(want[i])
		}
		return out
	}
	return number(want)
}

// number makes numbers alike that are written differently.
func number(value any) any {
	if f, ok := value.(float64); ok && f == float64(int64(f)) {
		return int64(f)
	}
	return value
}

// difference compares a value with what is wanted of it. It returns "" or what
// differs, as a diff of YAML.
func difference(want, got any) string {
	want, got = wanted(want), seen(want, got)
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return diffTexts(asYAML(want), asYAML(got))
}

// diffTexts returns the unified diff of two texts.
func diffTexts(want, got string) string {
	var b strings.Builder
	_ = difflib.WriteUnifiedDiff(&b, difflib.UnifiedDiff{ // A Builder takes everything.
		A: lines(want), B: lines(got), FromFile: "want", ToFile: "got", Context: 3,
	})
	return b.String()
}

func lines(text string) []string {
	all := strings.SplitAfter(text, "\n")
	if last := len(all) - 1; all[last] == "" {
		return all[:last]
	}
	return all
}

func asYAML(value any) string {
	text, err := yaml.Marshal(value)
	if err != nil {
		return err.Error() + "\n"
	}
	return string(text)
}

// ownMark is what reconcel's own labels and annotations begin with.
const ownMark = "reconcel.dev/"

// dropMarks takes reconcel's labels and annotations off an object, apart from
// those that are wanted.
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
			_ = unstructured.SetNestedMap(object, marks, "metadata", field) // It has been one before.
		}
	}
}

// differenceWhole compares all that rules have set of an object with what is
// wanted.
func differenceWhole(want map[string]any, got *unstructured.Unstructured) string {
	all := ruled(got)
	dropMarks(all, want)
	if _, asked, _ := unstructured.NestedFieldNoCopy(want, "metadata", "ownerReferences"); !asked {
		unstructured.RemoveNestedField(all, "metadata", "ownerReferences")
	}
	w, g := wanted(want), number(all)
	if reflect.DeepEqual(w, g) {
		return ""
	}
	return diffTexts(asYAML(w), asYAML(g))
}
