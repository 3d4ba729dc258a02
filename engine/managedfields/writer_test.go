package managedfields

import "testing"

func TestWritersOfAField(t *testing.T) {
	object := decodeJSON(t, `{"metadata":{"managedFields":[
		{"manager":"reconcel","operation":"Apply","time":"2026-01-01T00:00:00Z","fieldsV1":{"f:spec":{"f:containers":{"k:{\"name\":\"app\"}":{"f:image":{}}},"f:args":{},"f:replicas":{}}}},
		{"manager":"kubectl","operation":"Update","time":"2026-01-02T00:00:00Z","fieldsV1":{"f:spec":{"f:replicas":{},"f:containers":{"k:{\"name\":\"side\"}":{"f:image":{}}}}}},
		{"manager":"kubelet","operation":"Update","subresource":"status","time":"2026-01-03T00:00:00Z","fieldsV1":{"f:status":{"f:phase":{}}}}]},
		"spec":{"containers":[{"name":"app","image":"a"},{"name":"side","image":"b"}],"args":["x"],"replicas":3},"status":{"phase":"Running"}}`).(map[string]any)
	for _, c := range []struct {
		path []any
		want []string
	}{
		{[]any{"spec", "replicas"}, []string{"kubectl", "reconcel"}},
		{[]any{"spec", "containers", 0, "image"}, []string{"reconcel"}},
		{[]any{"spec", "containers", 1, "image"}, []string{"kubectl"}},
		{[]any{"spec", "args", 0}, []string{"reconcel"}},
		{[]any{"spec", "containers"}, []string{"kubectl", "reconcel"}},
		{[]any{"spec", "nodeName"}, nil},
		{[]any{"status", "phase"}, []string{"kubelet"}},
	} {
		var got []string
		for _, w := range WritersOf(object, c.path) {
			got = append(got, w.Manager)
		}
		if len(got) != len(c.want) {
			t.Errorf("%v: %v", c.path, got)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%v: %v, expected %v", c.path, got, c.want)
			}
		}
	}
	if w := WritersOf(object, []any{"status", "phase"}); w[0] != (Writer{"kubelet", "Update", "status", "2026-01-03T00:00:00Z"}) {
		t.Errorf("%+v", w)
	}
}
