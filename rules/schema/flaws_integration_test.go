//go:build integration

package schema

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic" //nolint:depguard // This test asks a real API server.

	"reconcel/test/devcluster"
)

// TestFlawsAgreeWithTheAPIServer creates the CRDs of TestFlawsOfFields, without storing
// them: the API server accepts those without a flaw, and no others.
func TestFlawsAgreeWithTheAPIServer(t *testing.T) {
	client, err := dynamic.NewForConfig(devcluster.Shared(t).Config())
	if err != nil {
		t.Fatal(err)
	}
	crds := client.Resource(runtimeschema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	for field, flaw := range fieldFlaws {
		crd := &unstructured.Unstructured{Object: withField(t, field)}
		_, err := crds.Create(context.Background(), crd, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: "Strict"})
		if (err != nil) != (flaw != "") {
			t.Errorf("%s: found %q, and the API server answers %v", field, flaw, err)
		}
	}
}
