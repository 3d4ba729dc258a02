package engine

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"reconcel/engine/discover"
	kindschema "reconcel/rules/schema"
)

var crds = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// judgeByCRD returns the judge of a command, which cannot wait: a kind without a
// CustomResourceDefinition is gone.
func judgeByCRD(client dynamic.Interface) missingJudge {
	return func(ctx context.Context, gk schema.GroupKind, err error) (gone bool, _ error) {
		if !discover.IsNoKind(err) {
			return false, err
		}
		if kindschema.BuiltInGroup(gk.Group) {
			return false, fmt.Errorf("kind %s is built in and not served now; repeat the command when it is (%w)", gk, err)
		}
		ctx, cancel := context.WithTimeout(ctx, writeTimeout)
		defer cancel()
		list, readErr := client.Resource(crds).List(ctx, metav1.ListOptions{})
		if readErr != nil {
			return false, fmt.Errorf("cannot tell whether kind %s is gone, list CustomResourceDefinitions: %w", gk, readErr)
		}
		for i := range list.Items {
			if definesKind(&list.Items[i], gk) {
				return false, fmt.Errorf("kind %s is not served now, but CustomResourceDefinition %s exists; repeat the command when the kind is served (%w)",
					gk, list.Items[i].GetName(), err)
			}
		}
		return true, nil
	}
}

func definesKind(crd *unstructured.Unstructured, gk schema.GroupKind) bool {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	return group == gk.Group && kind == gk.Kind
}
