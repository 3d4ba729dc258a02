package check

import (
	"testing"

	"reconcel/rules/source"
)

// TestSumOfListsOfDifferentKinds has no schema for the elements of such a list.
func TestSumOfListsOfDifferentKinds(t *testing.T) {
	src := source.File{Name: "rules.yaml", Data: []byte(`apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: r
  for: {apiVersion: v1, kind: Namespace}
  lookups:
  - {id: secrets, apiVersion: v1, kind: Secret, selector: {}}
  - {id: configs, apiVersion: v1, kind: ConfigMap, selector: {}}
  children:
  - id: names
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: names}
      data:
        names: '${(secrets + configs).map(o, o.metadata.name).join(",")}'
`)}
	if f := found(t, crds(t), src); len(f.Errors)+len(f.Warnings) > 0 {
		t.Error(report(t, f, src))
	}
}
