package diff

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// inPlaceOf returns the object that replaces another one. It was rehearsed under
// another name: its name, UID and token volume become those of the replaced object.
func inPlaceOf(old, rehearsed *unstructured.Unstructured) *unstructured.Unstructured {
	names := []string{rehearsed.GetName(), old.GetName()}
	if uid := string(rehearsed.GetUID()); uid != "" {
		names = append(names, uid, string(old.GetUID()))
	}
	if a, b := tokenVolume(rehearsed), tokenVolume(old); a != "" && b != "" {
		names = append(names, a, b)
	}
	renamed, _ := replaceNames(rehearsed.Object, strings.NewReplacer(names...)).(map[string]any)
	return &unstructured.Unstructured{Object: renamed}
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

// replaceNames replaces names in all strings: the API server copies some of them
// into labels.
func replaceNames(value any, names *strings.Replacer) any {
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(value))
		for key, v := range value {
			out[key] = replaceNames(v, names)
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, v := range value {
			out[i] = replaceNames(v, names)
		}
		return out
	case string:
		return names.Replace(value)
	}
	return value
}
