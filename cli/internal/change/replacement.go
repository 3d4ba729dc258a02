package change

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

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
