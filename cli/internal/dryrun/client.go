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
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"reconcel/sim"
)

// A Client is a client that reads a cluster and never writes to it. An object that was
// listed with Known, or read in a context, is not read again in this context until a
// write conflicts. Listed objects must not be changed. A Client may be used by several
// goroutines.
type Client struct {
	sender sender
	local  bool // send no dry runs
	kinds  func() (*sim.Kinds, error)
	known  sync.Map // Target without a subresource -> *unstructured.Unstructured
}

// New returns a Client that answers writes by dry runs. It calls kinds, for the
// kinds of the cluster, when it first needs them.
func New(client dynamic.Interface, kinds func() (*sim.Kinds, error)) *Client {
	return &Client{sender: sender{client}, kinds: sync.OnceValues(kinds)}
}

// NewLocal returns a Client that answers writes without the API server.
func NewLocal(client dynamic.Interface, kinds func() (*sim.Kinds, error)) *Client {
	c := New(client, kinds)
	c.local = true
	return c
}

// NewContinuous returns a Client like that of NewLocal for a process that goes on for long: it
// calls kinds each time.
func NewContinuous(client dynamic.Interface, kinds func() (*sim.Kinds, error)) *Client {
	return &Client{sender: sender{client}, kinds: kinds, local: true}
}

// Known returns a client that lists objects of a kind, and remembers them.
func (c *Client) Known(gvr schema.GroupVersionResource, namespace string) dynamic.ResourceInterface {
	return remembered{resource{unused().Resource(gvr), c, gvr, namespace}}
}

// A remembered resource remembers what it lists.
type remembered struct{ resource }

// List implements dynamic.ResourceInterface.
func (r remembered) List(ctx context.Context, options metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	page, err := r.resource.List(ctx, options)
	if err != nil {
		return nil, err
	}
	for i := range page.Items {
		u := &page.Items[i]
		r.client.known.Store(Target{Resource: r.gvr, Namespace: u.GetNamespace(), Name: u.GetName()}, u)
	}
	return page, nil
}

// find returns an object from memory, or else from the API server.
func (c *Client) find(ctx context.Context, r *Recorder, of Target) (*unstructured.Unstructured, error) {
	for _, memory := range []*sync.Map{&c.known, &r.read} {
		if u, found := memory.Load(of.object()); found {
			return u.(*unstructured.Unstructured), nil
		}
	}
	u, err := c.sender.get(ctx, of)
	if err == nil {
		r.read.Store(of.object(), u)
	}
	return u, err
}

// write answers a write and records it.
func (c *Client) write(ctx context.Context, w *Write,
	answer func(*Recorder) (*unstructured.Unstructured, error)) (*unstructured.Unstructured, error) {
	recorder, ok := ctx.Value(recorderKey{}).(*Recorder)
	if !ok {
		return nil, errors.New("the context has no recorder")
	}
	earlier := recorder.last(w.Target)
	if !w.Creates() && (earlier == nil || !earlier.created()) {
		var err error
		if w.Before, err = c.find(ctx, recorder, w.Target); err != nil && !apierrors.IsNotFound(err) {
			recorder.addUnread(fmt.Errorf("read %s: %w", w.Name, err))
			return nil, err
		}
	}
	w.restore(earlier)
	w.After, w.Err = answer(recorder)
	if apierrors.IsConflict(w.Err) {
		c.known.Delete(w.object())
		recorder.read.Delete(w.object())
	}
	recorder.add(w)
	if w.After == nil {
		return nil, w.Err
	}
	return answered(w.After), w.Err
}

func (c *Client) patch(ctx context.Context, w *Write, options metav1.PatchOptions) (*unstructured.Unstructured, error) {
	w.Rehearsal = slices.Contains(options.DryRun, metav1.DryRunAll)
	return c.write(ctx, w, func(r *Recorder) (*unstructured.Unstructured, error) {
		after, err := c.answer(ctx, r, w, options)
		if apierrors.IsNotFound(err) && w.Creates() && r.creates(w.Namespace) {
			w.Unasked = true // Its namespace is created by an earlier write.
			return appliedObject(w)
		}
		return after, err
	})
}
