package cluster

import (
	"context"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"reconcel/deploy"
)

// Holds reports whether a client has a permission in a namespace; "" is all namespaces. Every authenticated client may
// ask.
func Holds(ctx context.Context, client dynamic.Interface, permit deploy.Permit, namespace string) (bool, error) {
	resource, subresource, _ := strings.Cut(permit.Resource, "/")
	review := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": authorizationv1.SchemeGroupVersion.String(), "kind": "SelfSubjectAccessReview",
		"spec": map[string]any{"resourceAttributes": map[string]any{"namespace": namespace, "verb": permit.Verb,
			"group": permit.Group, "resource": resource, "subresource": subresource, "name": permit.Name}},
	}}
	answer, err := client.Resource(authorizationv1.SchemeGroupVersion.WithResource("selfsubjectaccessreviews")).
		Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	allowed, _, _ := unstructured.NestedBool(answer.Object, "status", "allowed")
	return allowed, nil
}
