package engine

import (
	"testing"

	"reconcel/engine/managedfields"
)

func TestCacheKeepsOnlyOurFields(t *testing.T) {
	const fields = `{"f:metadata":{"f:annotations":{"f:reconcel.dev/applied":{}}}}`
	for name, c := range map[string]struct {
		others string
		want   managedfields.Entry
	}{
		"alone":                            {"", managedfields.NewEntry(fields)},
		"after managedFields were removed": {`,{"manager":"before-first-apply","operation":"Update","fieldsV1":{"f:data":{}}}`, managedfields.Entry{}},
	} {
		t.Run(name, func(t *testing.T) {
			u := decodeObject(t, []byte(`{"kind":"ConfigMap","metadata":{"name":"one","managedFields":[
				{"manager":"reconcel","operation":"Apply","fieldsV1":`+fields+`}`+c.others+`]}}`))
			o := newObject(&u.Unstructured, childRole)
			if o.fields != c.want || o.GetManagedFields() != nil {
				t.Errorf("our fields are %v, managedFields %v", o.fields, o.GetManagedFields())
			}
		})
	}
}
