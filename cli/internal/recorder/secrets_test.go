package recorder

import (
	"encoding/base64"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func object(kind, value string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"name": "a", "annotations": map[string]any{
			"kubectl.kubernetes.io/last-applied-configuration": value, "note": "kept",
		}},
		"data": map[string]any{"key": value},
	}}
}

// TestSecretsAreWithheld expects digests that are equal for equal values, and in base64 as the data of a Secret.
func TestSecretsAreWithheld(t *testing.T) {
	w := newWithheld()
	digest := func(w *withheld, kind, value string) string {
		t.Helper()
		before := object(kind, value)
		item, err := w.transform(before)
		if err != nil {
			t.Fatal(err)
		}
		u := item.(*unstructured.Unstructured)
		if text, _, _ := unstructured.NestedString(before.Object, "data", "key"); text != value {
			t.Error("the object of the caller was changed")
		}
		if u.GetAnnotations()["note"] != "kept" || kind == "Secret" && len(u.GetAnnotations()) > 1 {
			t.Errorf("the annotations are %v", u.GetAnnotations())
		}
		text, _, _ := unstructured.NestedString(u.Object, "data", "key")
		return text
	}
	a := digest(w, "Secret", "b25l")
	if a != digest(w, "Secret", "b25l") || a == digest(w, "Secret", "dHdv") || a == digest(newWithheld(), "Secret", "b25l") {
		t.Error("equal values differ, or different ones are equal, or two recordings have the same key")
	}
	if plain, err := base64.StdEncoding.DecodeString(a); err != nil || !strings.HasPrefix(string(plain), "withheld-") {
		t.Errorf("the digest is %q", a)
	}
	if got := digest(w, "ConfigMap", "b25l"); got != "b25l" {
		t.Errorf("another object has %q", got)
	}
}
