package dryrun

import (
	"context"
	"errors"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"reconcel/sim"
)

// A Client is a client that reads a cluster and never writes to it. An object
// that was read or listed is not read again until a write conflicts. Listed objects
// must not be changed. A Client may be used by several goroutines.
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

// list returns a page of objects.
func (c *Client) list(ctx context.Context, of Target, options metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	page, err := c.sender.list(ctx, of, options)
	if err != nil {
		return nil, err
	}
	for i := range page.Items {
		u := &page.Items[i]
		c.known.Store(Target{Resource: of.Resource, Namespace: u.GetNamespace(), Name: u.GetName()}, u)
	}
	return page, nil
}

// find returns an object from memory, or else from the API server.
func (c *Client) find(ctx context.Context, of Target) (*unstructured.Unstructured, error) {
	if u := c.recall(of); u != nil {
		return u, nil
	}
	u, err := c.sender.get(ctx, of)
	if err != nil {
		return nil, err
	}
	c.known.Store(of.object(), u)
	return u, nil
}

// recall returns an object from memory, or nil.
func (c *Client) recall(of Target) *unstructured.Unstructured {
	u, _ := c.known.Load(of.object())
	known, _ := u.(*unstructured.Unstructured)
	return known
}

// write answers a write and records it.
func (c *Client) write(ctx context.Context, w *Write, answer func(*Recorder) (*unstructured.Unstructured, error)) (*unstructured.Unstructured, error) {
	recorder, ok := ctx.Value(recorderKey{}).(*Recorder)
	if !ok {
		return nil, errors.New("the context has no recorder")
	}
	c.restore(w, recorder.last(w.Target))
	if w.Before = c.recall(w.Target); w.Creates() {
		w.Before = nil
	}
	w.After, w.Err = answer(recorder)
	if apierrors.IsConflict(w.Err) {
		c.known.Delete(w.object())
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
		after, err := c.answer(ctx, w, r.under(w), options)
		if apierrors.IsNotFound(err) && w.Creates() && r.creates(w.Namespace) {
			w.Unasked = true // Its namespace is created by an earlier write.
			return appliedObject(w)
		}
		return after, err
	})
}
