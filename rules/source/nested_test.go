package source

import "testing"

func TestNested(t *testing.T) {
	for key, want := range map[string]string{
		"name":                                   "",
		"metadata.name":                          "metadata: {name: ...}",
		"metadata.labels.app":                    "metadata: {labels: {app: ...}}",
		"metadata.labels.app.kubernetes.io/name": "metadata: {labels: {app.kubernetes.io/name: ...}}",
		"annotations.example.com/x":              "annotations: {example.com/x: ...}",
		"example.com/x":                          "",
		"${a}.b":                                 "",
		"a..b":                                   "",
		".b":                                     "",
	} {
		if got := Nested(key); got != want {
			t.Errorf("%s: want %q, got %q", key, want, got)
		}
	}
}
