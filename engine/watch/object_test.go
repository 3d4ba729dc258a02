package watch

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"reconcel/engine/managedfields"
)

func decoded(t *testing.T, data string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal([]byte(data), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

func TestObjectKeepsOnlyOurFields(t *testing.T) {
	const fields = `{"f:metadata":{"f:annotations":{"f:reconcel.dev/applied":{}}}}`
	for name, c := range map[string]struct {
		others string
		want   managedfields.Entry
	}{
		"alone":                            {"", managedfields.NewEntry(fields)},
		"after managedFields were removed": {`,{"manager":"before-first-apply","operation":"Update","fieldsV1":{"f:data":{}}}`, managedfields.Entry{}},
	} {
		t.Run(name, func(t *testing.T) {
			o := NewObject(decoded(t, `{"kind":"ConfigMap","metadata":{"name":"one","managedFields":[
				{"manager":"reconcel","operation":"Apply","fieldsV1":`+fields+`}`+c.others+`]}}`), Child)
			if kept := o.DeepCopy().GetManagedFields(); o.Fields() != c.want || kept != nil {
				t.Errorf("our fields are %v, managedFields %v", o.Fields(), kept)
			}
		})
	}
}

// TestClientsDoNotChangeObjects hands an object to client-go, whose interface of
// metadata has setters.
func TestClientsDoNotChangeObjects(t *testing.T) {
	o := NewObject(decoded(t, `{"metadata":{"name":"one","namespace":"a","uid":"u","resourceVersion":"5"}}`), Child)
	meta := o.GetObjectMeta()
	if meta.GetName() != "one" || meta.GetNamespace() != "a" || meta.GetUID() != "u" || meta.GetResourceVersion() != "5" {
		t.Errorf("the metadata is %v", meta)
	}
	meta.SetName("two")
	meta.SetLabels(map[string]string{"a": "b"})
	bare := o.WithoutBody()
	if o.GetName() != "one" || bare.GetName() != "one" {
		t.Errorf("the object is called %s", o.GetName())
	}
	if len(o.GetLabels()) > 0 {
		t.Errorf("the object has the labels %v", o.GetLabels())
	}
	if n := testing.AllocsPerRun(10, func() { o.GetObjectMeta() }); n > 0 {
		t.Errorf("each event needs %v allocations for the metadata", n)
	}
}
