package main

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"reconcel/bench/order"
)

// writer sends prepared bodies and reads no answers.
type writer struct {
	client *rest.RESTClient
}

func newWriter(config *rest.Config) (*writer, error) {
	config.QPS = -1
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	client, err := rest.UnversionedRESTClientFor(config)
	return &writer{client: client}, err
}

func (w *writer) write(ctx context.Context, o order.Order) error {
	switch {
	case o.Replicas != nil:
		return w.client.Patch(types.ApplyPatchType).
			AbsPath("/apis/apps/v1/namespaces/default/deployments", o.Name).
			Param("fieldManager", "floor").Param("force", "true").
			Body(deployment(o)).Do(ctx).Error()
	case o.Available != nil:
		return w.client.Patch(types.MergePatchType).
			AbsPath("/apis/samplecontroller.k8s.io/v1alpha1/namespaces/default/foos", o.Name, "status").
			Body(fmt.Appendf(nil, `{"status":{"availableReplicas":%d}}`, *o.Available)).Do(ctx).Error()
	default:
		return errors.New("the order has neither replicas nor available")
	}
}

// apply writes as write does, but applies the status too.
func (w *writer) apply(ctx context.Context, o order.Order) error {
	if o.Available == nil {
		return w.write(ctx, o)
	}
	return w.client.Patch(types.ApplyPatchType).
		AbsPath("/apis/samplecontroller.k8s.io/v1alpha1/namespaces/default/foos", o.Name, "status").
		Param("fieldManager", "floor").Param("force", "true").
		Body(fmt.Appendf(nil, `{"apiVersion":"samplecontroller.k8s.io/v1alpha1","kind":"Foo","metadata":{"name":"%s"},"status":{"availableReplicas":%d}}`, o.Name, *o.Available)).
		Do(ctx).Error()
}

// deployment is the Deployment of examples/foo/rules.yaml, in JSON. Names of objects need
// no quoting in JSON.
func deployment(o order.Order) []byte {
	labels := fmt.Sprintf(`{"app":"nginx","controller":"%s"}`, o.Name)
	return fmt.Appendf(nil, `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"%[1]s","namespace":"default","labels":%[2]s,`+
		`"ownerReferences":[{"apiVersion":"samplecontroller.k8s.io/v1alpha1","kind":"Foo","name":"%[1]s","uid":"%[3]s","controller":true,"blockOwnerDeletion":true}]},`+
		`"spec":{"replicas":%[4]d,"selector":{"matchLabels":%[2]s},"template":{"metadata":{"labels":%[2]s},"spec":{"containers":[{"name":"nginx","image":"nginx:latest"}]}}}}`,
		o.Name, labels, o.UID, *o.Replicas)
}
