package main

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"reconcel/hack/bench/order"
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
			Param("fieldManager", "floor").Param("force", "true").Param("fieldValidation", "Ignore").
			Body(deployment(o)).Do(ctx).Error()
	case o.Available != nil:
		return w.client.Patch(types.MergePatchType).
			AbsPath("/apis/samplecontroller.k8s.io/v1alpha1/namespaces/default/foos", o.Name, "status").
			Body(fmt.Appendf(nil, `{"status":{"availableReplicas":%d}}`, *o.Available)).Do(ctx).Error()
	}
	return errors.New("the order has neither replicas nor available")
}

// deployment is the Deployment of examples/foo/rules.yaml, in JSON. Names of objects need no quoting
// in JSON. The line break after the first brace makes it cheaper to parse as YAML.
func deployment(o order.Order) []byte {
	return fmt.Appendf(nil, "{\n"+`"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"%[1]s","namespace":"default","labels":{%[2]s},`+
		`"ownerReferences":[{"apiVersion":"samplecontroller.k8s.io/v1alpha1","kind":"Foo","name":"%[1]s","uid":"%[3]s","controller":true,"blockOwnerDeletion":true}]},`+
		`"spec":{"replicas":%[4]d,"selector":{"matchLabels":{%[2]s}},"template":{"metadata":{"labels":{%[2]s}},"spec":{"containers":[{"name":"nginx","image":"nginx:latest"}]}}}}`,
		o.Name, fmt.Sprintf(`"app":"nginx","controller":"%s"`, o.Name), o.UID, *o.Replicas)
}
