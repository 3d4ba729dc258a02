package dryrun

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/pager"

	"reconcel/sim"
)

// A Cluster is a client that reads a cluster and never writes to it. An object
// that was read is not read again until a write conflicts. A Cluster may be used
// by several goroutines.
type Cluster struct {
	sender   sender
	answerer answerer
	kinds    func() (*sim.Kinds, error)

	mu    sync.Mutex
	known map[objectKey]*unstructured.Unstructured
}

type objectKey struct {
	resource        schema.GroupVersionResource
	namespace, name string
}

// New returns a Cluster that answers writes by dry runs. It calls kinds, for the
// kinds of the cluster, when it first needs them.
func New(client dynamic.Interface, kinds func() (*sim.Kinds, error)) *Cluster {
	return newCluster(client, kinds, byServer{})
}

// NewLocal returns a Cluster that answers writes without the API server.
func NewLocal(client dynamic.Interface, kinds func() (*sim.Kinds, error)) *Cluster {
	return newCluster(client, kinds, byMerging{})
}

func newCluster(client dynamic.Interface, kinds func() (*sim.Kinds, error), a answerer) *Cluster {
	return &Cluster{sender: sender{client}, answerer: a, kinds: sync.OnceValues(kinds), known: map[objectKey]*unstructured.Unstructured{}}
}

// List returns the objects of a kind, of all namespaces if namespace is "". It reads
// them page by page. They must not be changed.
func (c *Cluster) List(ctx context.Context, resource schema.GroupVersionResource, namespace string, options metav1.ListOptions) (all []*unstructured.Unstructured, err error) {
	of := &Write{Resource: resource, Namespace: namespace}
	pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return c.sender.list(ctx, of, options)
	})
	err = pages.EachListItem(ctx, options, func(o runtime.Object) error {
		u, ok := o.(*unstructured.Unstructured)
		if !ok {
			return fmt.Errorf("unexpected %T", o)
		}
		all = append(all, u)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", resource.Resource, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, u := range all {
		c.known[objectKey{resource, u.GetNamespace(), u.GetName()}] = u
	}
	return all, nil
}

func (w *Write) key() objectKey { return objectKey{w.Resource, w.Namespace, w.Name} }

// find returns an object from memory, or else from the API server.
func (c *Cluster) find(ctx context.Context, w *Write) (*unstructured.Unstructured, error) {
	if u := c.recall(w); u != nil {
		return u, nil
	}
	u, err := c.sender.get(ctx, w)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known[w.key()] = u
	return u, nil
}

// recall returns an object from memory, or nil.
func (c *Cluster) recall(w *Write) *unstructured.Unstructured {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known[w.key()]
}

// forget removes an object from memory.
func (c *Cluster) forget(w *Write) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.known, w.key())
}

// write answers a write and records it.
func (c *Cluster) write(ctx context.Context, w *Write, answer func(*Recorder) (*unstructured.Unstructured, error)) (*unstructured.Unstructured, error) {
	recorder, ok := ctx.Value(recorderKey{}).(*Recorder)
	if !ok {
		return nil, errors.New("the context has no recorder")
	}
	if w.Before = c.recall(w); w.Creates() {
		w.Before = nil
	}
	w.After, w.Err = answer(recorder)
	if apierrors.IsConflict(w.Err) {
		c.forget(w)
	}
	recorder.add(w)
	if w.After == nil {
		return nil, w.Err
	}
	return w.After.DeepCopy(), w.Err
}

func (c *Cluster) patch(ctx context.Context, w *Write, options metav1.PatchOptions) (*unstructured.Unstructured, error) {
	w.Rehearsal = slices.Contains(options.DryRun, metav1.DryRunAll)
	return c.write(ctx, w, func(r *Recorder) (*unstructured.Unstructured, error) {
		after, err := c.answerer.patch(ctx, c, w, r.under(w), options)
		if apierrors.IsNotFound(err) && w.Creates() && r.creates(w.Namespace) {
			w.Computed = true // Its namespace is created by an earlier write.
			return applied(w)
		}
		return after, err
	})
}
