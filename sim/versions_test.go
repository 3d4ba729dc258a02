package sim_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"reconcel/rules/schema"
	"reconcel/sim"
)

// scaler is an autoscaler that kubectl has created in version v1, and whose metrics it owns there under
// other names.
const scaler = `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: web
  managedFields:
  - manager: kubectl-client-side-apply
    operation: Update
    apiVersion: autoscaling/v1
    fieldsType: FieldsV1
    fieldsV1: {"f:spec": {"f:maxReplicas": {}, "f:minReplicas": {}, "f:scaleTargetRef": {}, "f:targetCPUUtilizationPercentage": {}}}
  - manager: old
    operation: Apply
    apiVersion: autoscaling/v1
    fieldsType: FieldsV1
    fieldsV1: {"f:spec": {"f:minReplicas": {}}}
spec:
  minReplicas: 1
  maxReplicas: 4
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  metrics:
  - {type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}
`

// TestOtherVersionsOwnFields applies to an object with fields that were written in another version.
func TestOtherVersionsOwnFields(t *testing.T) {
	kinds, err := sim.NewKinds(schema.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	object := func(text string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{}
		data, err := yaml.YAMLToJSON([]byte(text))
		if err == nil {
			err = u.UnmarshalJSON(data)
		}
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	live := object(scaler)
	applied := object(`{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web}, spec: {minReplicas: 2, maxReplicas: 4,
		metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 60}}}]}}`)
	got, err := kinds.Merge(live, applied, "", "reconcel")
	if err != nil {
		t.Fatal(err)
	}
	if n, _, _ := unstructured.NestedInt64(got.Object, "spec", "minReplicas"); n != 2 {
		t.Errorf("minReplicas is %d", n)
	}
	if of, _, _ := unstructured.NestedString(got.Object, "spec", "scaleTargetRef", "name"); of != "web" {
		t.Errorf("the target is %q", of)
	}
	owners := map[string]string{}
	for _, e := range got.GetManagedFields() {
		owners[e.Manager] = e.APIVersion
	}
	if owners["reconcel"] != "autoscaling/v2" || owners["kubectl-client-side-apply"] != "autoscaling/v1" || owners["old"] != "" {
		t.Errorf("the managers are %v", owners)
	}

	// Dropping a field that was applied in the other version removes it.
	dropped, err := kinds.Merge(live, object(`{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web}, spec: {maxReplicas: 4}}`), "", "old")
	if err != nil {
		t.Fatal(err)
	}
	if n, _, _ := unstructured.NestedInt64(dropped.Object, "spec", "minReplicas"); n != 1 {
		t.Errorf("minReplicas, which kubectl owns too, is %d", n)
	}
}
