package dryrun

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
)

// Resource implements dynamic.Interface.
func (c *Client) Resource(gvr schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return resource{client: c, gvr: gvr}
}

// A resource is a client for one kind, in one namespace or in all.
type resource struct {
	unused
	client    *Client
	gvr       schema.GroupVersionResource
	namespace string
}

// Namespace implements dynamic.NamespaceableResourceInterface.
func (r resource) Namespace(namespace string) dynamic.ResourceInterface {
	r.namespace = namespace
	return r
}

func (r resource) target(name string, subresources ...string) Target {
	return Target{r.gvr, r.namespace, name, strings.Join(subresources, "/")}
}

// Get implements dynamic.ResourceInterface.
func (r resource) Get(ctx context.Context, name string, _ metav1.GetOptions, subresources ...string) (*unstructured.Unstructured, error) {
	if len(subresources) > 0 {
		return nil, errUnused
	}
	recorder, ok := ctx.Value(recorderKey{}).(*Recorder)
	if ok {
		if last := recorder.last(r.target(name)); last != nil && last.created() {
			return answered(last.After), nil
		}
	}
	u, err := r.client.find(ctx, r.target(name))
	if err != nil {
		if ok && !apierrors.IsNotFound(err) {
			recorder.addUnread(fmt.Errorf("read %s: %w", name, err))
		}
		return nil, err
	}
	return u.DeepCopy(), nil
}

// List implements dynamic.ResourceInterface.
func (r resource) List(ctx context.Context, options metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	return r.client.list(ctx, r.target(""), options)
}

// Patch implements dynamic.ResourceInterface.
func (r resource) Patch(ctx context.Context, name string, kind types.PatchType, data []byte, options metav1.PatchOptions, subresources ...string) (*unstructured.Unstructured, error) {
	w := &Write{Target: r.target(name, subresources...), Manager: options.FieldManager, Patch: kind, Body: data}
	return r.client.patch(ctx, w, options)
}

// Delete implements dynamic.ResourceInterface.
func (r resource) Delete(ctx context.Context, name string, options metav1.DeleteOptions, subresources ...string) error {
	if len(subresources) > 0 {
		return errUnused
	}
	w := &Write{Target: r.target(name)}
	_, err := r.client.write(ctx, w, func(*Recorder) (*unstructured.Unstructured, error) {
		return nil, r.client.answerer.delete(ctx, r.client, w, r.client.restored(w.Target, options))
	})
	return err
}

var errUnused = errors.New("the engine does not make this request")

// unused has the methods that the engine does not call.
type unused struct{}

// Create implements dynamic.ResourceInterface.
func (unused) Create(context.Context, *unstructured.Unstructured, metav1.CreateOptions, ...string) (*unstructured.Unstructured, error) {
	return nil, errUnused
}

// Update implements dynamic.ResourceInterface.
func (unused) Update(context.Context, *unstructured.Unstructured, metav1.UpdateOptions, ...string) (*unstructured.Unstructured, error) {
	return nil, errUnused
}

// UpdateStatus implements dynamic.ResourceInterface.
func (unused) UpdateStatus(context.Context, *unstructured.Unstructured, metav1.UpdateOptions) (*unstructured.Unstructured, error) {
	return nil, errUnused
}

// DeleteCollection implements dynamic.ResourceInterface.
func (unused) DeleteCollection(context.Context, metav1.DeleteOptions, metav1.ListOptions) error {
	return errUnused
}

// Watch implements dynamic.ResourceInterface.
func (unused) Watch(context.Context, metav1.ListOptions) (watch.Interface, error) {
	return nil, errUnused
}

// Apply implements dynamic.ResourceInterface.
func (unused) Apply(context.Context, string, *unstructured.Unstructured, metav1.ApplyOptions, ...string) (*unstructured.Unstructured, error) {
	return nil, errUnused
}

// ApplyStatus implements dynamic.ResourceInterface.
func (unused) ApplyStatus(context.Context, string, *unstructured.Unstructured, metav1.ApplyOptions) (*unstructured.Unstructured, error) {
	return nil, errUnused
}
