package cli

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/pager"

	"reconcel/engine/discover"
)

// find returns a kind, or nil if the API server does not serve it.
func (c *liveCluster) find(ctx context.Context, gvk schema.GroupVersionKind) (*discover.Kind, error) {
	k, err := c.kinds.Find(ctx, gvk)
	if _, unknown := errors.AsType[discover.NoKindError](err); unknown {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &k, nil
}

// resource returns the client for the objects of a kind: in a namespace, or with
// "" in all of them.
func (c *liveCluster) resource(k *discover.Kind, namespace string) dynamic.ResourceInterface {
	if !k.Namespaced {
		namespace = ""
	}
	return c.client.Resource(k.GVR).Namespace(namespace)
}

// read returns an object, or nil if there is none.
func (c *liveCluster) read(ctx context.Context, gvr schema.GroupVersionResource, namespace, name string) (*unstructured.Unstructured, error) {
	u, err := c.client.Resource(gvr).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return u, err
}

// eachListed lists objects page by page, of which one is held while the next is
// asked for.
func eachListed(ctx context.Context, from dynamic.ResourceInterface, options metav1.ListOptions, visit func(*unstructured.Unstructured)) error {
	pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return from.List(ctx, options)
	})
	pages.PageBufferSize = 1
	return pages.EachListItem(ctx, options, func(o runtime.Object) error {
		u, ok := o.(*unstructured.Unstructured)
		if !ok {
			return fmt.Errorf("unexpected %T", o)
		}
		visit(u)
		return nil
	})
}

// namespacedName names an object of a kind for people.
func namespacedName(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}
