package dryrun

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// Resource implements dynamic.Interface.
func (c *Client) Resource(gvr schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return resource{unused().Resource(gvr), c, gvr, ""}
}

// A resource is a client for one kind, in one namespace or in all.
type resource struct {
	dynamic.ResourceInterface // unused

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
func (r resource) Get(ctx context.Context, name string, _ metav1.GetOptions,
	subresources ...string) (*unstructured.Unstructured, error) {
	if len(subresources) > 0 {
		return nil, errUnused
	}
	recorder, ok := ctx.Value(recorderKey{}).(*Recorder)
	if !ok {
		recorder = &Recorder{} // Nothing is remembered.
	}
	if last := recorder.last(r.target(name)); last != nil && last.created() {
		return answered(last.After), nil
	}
	u, err := r.client.find(ctx, recorder, r.target(name))
	if err != nil {
		if !apierrors.IsNotFound(err) {
			recorder.addUnread(fmt.Errorf("read %s: %w", name, err))
		}
		return nil, err
	}
	return u.DeepCopy(), nil
}

// List implements dynamic.ResourceInterface.
func (r resource) List(ctx context.Context, options metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	return r.client.sender.resource(r.target("")).List(ctx, options)
}

// Patch implements dynamic.ResourceInterface.
func (r resource) Patch(ctx context.Context, name string, kind types.PatchType, data []byte,
	options metav1.PatchOptions, subresources ...string) (*unstructured.Unstructured, error) {
	w := &Write{Target: r.target(name, subresources...), Manager: options.FieldManager, Patch: kind, Body: data}
	return r.client.patch(ctx, w, options)
}

// Delete implements dynamic.ResourceInterface.
func (r resource) Delete(ctx context.Context, name string, options metav1.DeleteOptions, subresources ...string) error {
	if len(subresources) > 0 {
		return errUnused
	}
	w := &Write{Target: r.target(name)}
	_, err := r.client.write(ctx, w, func(recorder *Recorder) (*unstructured.Unstructured, error) {
		if r.client.local {
			_, err := r.client.find(ctx, recorder, w.Target)
			return nil, err
		}
		return nil, r.client.sender.delete(ctx, w, w.restored(options))
	})
	return err
}

var errUnused = errors.New("the engine does not make this request")

// A deadEnd is a transport that sends nothing.
type deadEnd struct{}

// RoundTrip implements http.RoundTripper.
func (deadEnd) RoundTrip(*http.Request) (*http.Response, error) { return nil, errUnused }

// unused is a client for the verbs that the engine does not use. They fail.
var unused = sync.OnceValue(func() dynamic.Interface {
	return dynamic.NewForConfigOrDie(&rest.Config{Transport: deadEnd{}})
})
