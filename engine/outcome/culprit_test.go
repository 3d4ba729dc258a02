package outcome

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/engine/managedfields"
	"reconcel/rules"
)

// TestWhoChangedAField derives from managedFields who has changed a field that reconcel owns.
func TestWhoChangedAField(t *testing.T) {
	const before = `{"f:spec":{"f:replicas":{},"f:paused":{},"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:image":{},"f:name":{}}}}}}}`
	desired := map[string]any{"spec": map[string]any{"replicas": int64(2), "paused": false,
		"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "web", "image": "nginx:1.27"}}}}}}
	for name, test := range map[string]struct {
		managed     string // managedFields
		annotations map[string]any
		spec        string
		want        string
	}{
		"a field": {
			managed: `[{"manager":"reconcel","operation":"Apply","time":"2030-01-01T00:00:00Z","fieldsV1":{"f:spec":{"f:paused":{},"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:image":{},"f:name":{}}}}}}}},
				{"manager":"kubectl-edit","operation":"Update","time":"2030-01-01T00:01:00Z","fieldsV1":{"f:spec":{"f:replicas":{}}}}]`,
			want: `"kubectl-edit" changed spec.replicas`,
		},
		"fields of a list": {
			managed: `[{"manager":"reconcel","operation":"Apply","fieldsV1":{"f:spec":{"f:paused":{},"f:replicas":{}}}},
				{"manager":"helm","operation":"Update","fieldsV1":{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:image":{},"f:name":{}}}}}}}}]`,
			want: `"helm" changed spec.template.spec.containers[name="web"].image, spec.template.spec.containers[name="web"].name`,
		},
		"a removed field has no owner": {
			managed: `[{"manager":"reconcel","operation":"Apply","fieldsV1":{"f:spec":{"f:replicas":{},"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:image":{},"f:name":{}}}}}}}},
				{"manager":"status","operation":"Update","subresource":"status","time":"2030-01-01T00:03:00Z","fieldsV1":{"f:status":{}}},
				{"manager":"kubectl-patch","operation":"Update","time":"2030-01-01T00:02:00Z","fieldsV1":{"f:metadata":{"f:labels":{}}}}]`,
			want: `"kubectl-patch" changed spec.paused`,
		},
		"another reconcel": {
			managed:     `[{"manager":"reconcel","operation":"Apply","fieldsV1":` + before + `}]`,
			annotations: map[string]any{rules.AnnotationInstallation: "dev/reconcel"},
			spec:        `{"replicas":2,"paused":false,"template":{"spec":{"containers":[{"name":"web","image":"nginx:dev"}]}}}`,
			want:        `reconcel "dev/reconcel" changed spec.template.spec.containers`,
		},
		"no managers": {managed: `[]`, want: `an unknown writer changed spec.paused, spec.replicas, spec.template.spec.containers[name="web"].image and 1 more`},
	} {
		t.Run(name, func(t *testing.T) {
			u := &unstructured.Unstructured{Object: map[string]any{}}
			var managed []any
			if err := json.Unmarshal([]byte(test.managed), &managed); err != nil {
				t.Fatal(err)
			}
			u.Object["metadata"] = map[string]any{"managedFields": managed, "annotations": test.annotations}
			if test.spec != "" {
				var spec map[string]any
				if err := json.Unmarshal([]byte(test.spec), &spec); err != nil {
					t.Fatal(err)
				}
				u.Object["spec"] = spec
			}
			if got := CulpritOf(u, desired, managedfields.NewEntry(before), "default/reconcel").String(); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}
