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
		return w.applyDeployment(ctx, o.Name, deployment(o, "", ""))
	case o.Available != nil:
		return w.client.Patch(types.MergePatchType).
			AbsPath("/apis/samplecontroller.k8s.io/v1alpha1/namespaces/default/foos", o.Name, "status").
			Body(fmt.Appendf(nil, `{"status":{"availableReplicas":%d}}`, *o.Available)).Do(ctx).Error()
	}
	return errEmpty
}

// errEmpty is that of an order for nothing.
var errEmpty = errors.New("the order has neither replicas nor available")

// The marks of reconcel on a Deployment. The hash is one of the rendering.
const (
	labelMarks      = `,"reconcel.dev/child":"deployment","reconcel.dev/rule":"foo"`
	annotationMarks = `"annotations":{"reconcel.dev/applied":"%032x","reconcel.dev/installation":"default/reconcel"},`
)

// apply writes what reconcel writes: a Deployment with marks, and a status that is applied.
func (w *writer) apply(ctx context.Context, o order.Order) error {
	switch {
	case o.Replicas != nil:
		return w.applyDeployment(ctx, o.Name, deployment(o, labelMarks, fmt.Sprintf(annotationMarks, *o.Replicas)))
	case o.Available != nil:
		return w.client.Patch(types.ApplyPatchType).
			AbsPath("/apis/samplecontroller.k8s.io/v1alpha1/namespaces/default/foos", o.Name, "status").
			Param("fieldManager", "floor").Param("force", "true").Param("fieldValidation", "Ignore").
			Body(fmt.Appendf(nil, "{\n"+`"apiVersion":"samplecontroller.k8s.io/v1alpha1","kind":"Foo","metadata":{"name":"%s"},"status":{"availableReplicas":%d}}`, o.Name, *o.Available)).
			Do(ctx).Error()
	}
	return errEmpty
}

func (w *writer) applyDeployment(ctx context.Context, name string, body []byte) error {
	return w.client.Patch(types.ApplyPatchType).
		AbsPath("/apis/apps/v1/namespaces/default/deployments", name).
		Param("fieldManager", "floor").Param("force", "true").Param("fieldValidation", "Ignore").
		Body(body).Do(ctx).Error()
}

// deployment is the Deployment of examples/foo/rules.yaml, in JSON, with more labels and
// with annotations. Names of objects need no quoting in JSON.
func deployment(o order.Order, moreLabels, annotations string) []byte {
	labels := fmt.Sprintf(`"app":"nginx","controller":"%s"`, o.Name)
	return fmt.Appendf(nil, "{\n"+`"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"%[1]s","namespace":"default",%[6]s"labels":{%[2]s%[5]s},`+
		`"ownerReferences":[{"apiVersion":"samplecontroller.k8s.io/v1alpha1","kind":"Foo","name":"%[1]s","uid":"%[3]s","controller":true,"blockOwnerDeletion":true}]},`+
		`"spec":{"replicas":%[4]d,"selector":{"matchLabels":{%[2]s}},"template":{"metadata":{"labels":{%[2]s}},"spec":{"containers":[{"name":"nginx","image":"nginx:latest"}]}}}}`,
		o.Name, labels, o.UID, *o.Replicas, moreLabels, annotations)
}
