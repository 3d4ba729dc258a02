//go:build integration

package examples

import (
	"encoding/base64"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// generatedIn returns the generated values of a Secret by key. They differ between runs.
func generatedIn(c child, u unstructured.Unstructured) map[string]string {
	out := map[string]string{}
	for key := range c.Generate {
		out[key] = decoded(u.Object["data"])[key].(string)
	}
	return out
}

// decoded returns the data of a Secret as text.
func decoded(data any) map[string]any {
	out := map[string]any{}
	encoded, _ := data.(map[string]any)
	for key, value := range encoded {
		text, _ := value.(string)
		plain, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			plain = []byte(text)
		}
		out[key] = string(plain)
	}
	return out
}
