package discover

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestConditionsIn(t *testing.T) {
	gvk := schema.GroupVersionKind{Group: "g", Version: "v1", Kind: "K"}
	doc := func(status string) []byte {
		return []byte(`{"paths":{"/apis/g/v1/ks/{name}":{"get":{"x-kubernetes-group-version-kind":{"group":"g","version":"v1","kind":"K"}}}},"components":{"schemas":{"x":{"x-kubernetes-group-version-kind":[{"group":"g","version":"v1","kind":"K"}],"properties":{"status":` + status + `}}}}}`)
	}
	for _, c := range []struct {
		name, status string
		want         ConditionList
	}{
		{"none", `{"properties":{"phase":{}}}`, NoConditions},
		{"a list by type", `{"properties":{"conditions":{"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["type"]}}}`, KeyedConditions},
		{"a list by something else", `{"properties":{"conditions":{"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["id"]}}}`, AtomicConditions},
		{"a plain list", `{"properties":{"conditions":{}}}`, AtomicConditions},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, err := ownershipIn(doc(c.status), gvk); err != nil || got.Conditions != c.want {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
	if _, err := ownershipIn(doc(`{}`), schema.GroupVersionKind{Kind: "Other"}); err == nil {
		t.Error("a kind that is not published is taken for one without conditions")
	}
}
