package dryrun

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/pager"

	"reconcel/sim"
)

// A Cluster is a cluster that is read, and never written to. What was read of an
// object counts until a write shows that it is outdated. It may be used by any
// number of goroutines.
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

// New returns a cluster whose writes are answered by dry runs. kinds is asked for
// the kinds of the cluster when it is first needed.
func New(client dynamic.Interface, kinds func() (*sim.Kinds, error)) *Cluster {
	return newCluster(client, kinds, byServer{})
}

// NewLocal returns a cluster whose writes are answered without the API server.
func NewLocal(client dynamic.Interface, kinds func() (*sim.Kinds, error)) *Cluster {
	return newCluster(client, kinds, byMerging{})
}

func newCluster(client dynamic.Interface, kinds func() (*sim.Kinds, error), a answerer) *Cluster {
	return &Cluster{sender: sender{client}, answerer: a, kinds: sync.OnceValues(kinds), known: map[objectKey]*unstructured.Unstructured{}}
}

// List returns the objects of a kind in a namespace, or with "" in all of them or
// in none, page by page. They must not be changed.
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

// find returns an object as it is known, or else as the API server has it.
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

// recall returns an object as it is known, or nil.
func (c *Cluster) recall(w *Write) *unstructured.Unstructured {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known[w.key()]
}

// forget makes the next read of an object ask the API server.
func (c *Cluster) forget(w *Write) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.known, w.key())
}

// write answers a write and records it.
func (c *Cluster) write(ctx context.Context, w *Write, answer func(*Recorder) (*unstructured.Unstructured, error)) (*unstructured.Unstructured, error) {
	recorder, ok := ctx.Value(recorderKey{}).(*Recorder)
	if !ok {
		return nil, errors.New("nobody records the writes")
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
		if apierrors.IsNotFound(err) && w.Creates() && r.makes(w.Namespace) {
			w.Computed = true // Its namespace is about to be made.
			return applied(w)
		}
		return after, err
	})
}

// Resource implements dynamic.Interface.
func (c *Cluster) Resource(gvr schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return resource{cluster: c, gvr: gvr}
}

// A resource is a client for one kind, in one namespace or in all.
type resource struct {
	unused
	cluster   *Cluster
	gvr       schema.GroupVersionResource
	namespace string
}

// Namespace implements dynamic.NamespaceableResourceInterface.
func (r resource) Namespace(namespace string) dynamic.ResourceInterface {
	r.namespace = namespace
	return r
}

// Get implements dynamic.ResourceInterface.
func (r resource) Get(ctx context.Context, name string, _ metav1.GetOptions, subresources ...string) (*unstructured.Unstructured, error) {
	if len(subresources) > 0 {
		return nil, errUnused
	}
	u, err := r.cluster.find(ctx, &Write{Resource: r.gvr, Namespace: r.namespace, Name: name})
	if err != nil {
		if recorder, ok := ctx.Value(recorderKey{}).(*Recorder); ok && !apierrors.IsNotFound(err) {
			recorder.addUnread(fmt.Errorf("read %s: %w", name, err))
		}
		return nil, err
	}
	return u.DeepCopy(), nil
}

// List implements dynamic.ResourceInterface.
func (r resource) List(ctx context.Context, options metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	return r.cluster.sender.list(ctx, &Write{Resource: r.gvr, Namespace: r.namespace}, options)
}

// Patch implements dynamic.ResourceInterface.
func (r resource) Patch(ctx context.Context, name string, kind types.PatchType, data []byte, options metav1.PatchOptions, subresources ...string) (*unstructured.Unstructured, error) {
	w := &Write{Resource: r.gvr, Namespace: r.namespace, Name: name, Subresource: strings.Join(subresources, "/"),
		Manager: options.FieldManager, Patch: kind, Body: data}
	return r.cluster.patch(ctx, w, options)
}

// Delete implements dynamic.ResourceInterface.
func (r resource) Delete(ctx context.Context, name string, options metav1.DeleteOptions, subresources ...string) error {
	if len(subresources) > 0 {
		return errUnused
	}
	w := &Write{Resource: r.gvr, Namespace: r.namespace, Name: name}
	_, err := r.cluster.write(ctx, w, func(*Recorder) (*unstructured.Unstructured, error) {
		return nil, r.cluster.answerer.delete(ctx, r.cluster, w, options)
	})
	return err
}

var errUnused = errors.New("the engine does not make this request")

// unused are the methods that an engine does not call.
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
