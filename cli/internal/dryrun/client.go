package dryrun

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/ptr"

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
	u, err := c.sender.resource(of).Get(ctx, of.Name, metav1.GetOptions{})
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

// later is the resourceVersion of all answers. It is newer than that of every object in
// the cluster, so the engine reads an answer before its cache.
const later = "9223372036854775807"

// answered returns a copy of the answer to a write, for the engine.
func answered(u *unstructured.Unstructured) *unstructured.Unstructured {
	u = u.DeepCopy()
	u.SetResourceVersion(later)
	return u
}

// created reports whether the write made an object that did not exist.
func (w *Write) created() bool { return w.Before == nil && w.After != nil }

// restore replaces the resourceVersion of an earlier answer in the body of a write by
// the one that the API server knows. An object that the earlier write created does not
// exist there, so the write becomes a creation.
func (w *Write) restore(earlier *Write) {
	version := ""
	if w.Before != nil {
		version = w.Before.GetResourceVersion()
	}
	if earlier != nil && earlier.created() {
		version = neverVersion
		if uid := earlier.After.GetUID(); uid != "" {
			w.Body = bytes.ReplaceAll(w.Body, fmt.Appendf(nil, `"uid":%q`, uid), []byte(`"uid":""`))
		}
	}
	w.Body = bytes.ReplaceAll(w.Body, []byte(strconv.Quote(later)), []byte(strconv.Quote(version)))
}

// restored returns the options of a deletion with the resourceVersion that the API
// server knows.
func (w *Write) restored(options metav1.DeleteOptions) metav1.DeleteOptions {
	if w.Before == nil || options.Preconditions == nil || ptr.Deref(options.Preconditions.ResourceVersion, "") != later {
		return options
	}
	options.Preconditions = &metav1.Preconditions{UID: options.Preconditions.UID,
		ResourceVersion: new(w.Before.GetResourceVersion())}
	return options
}
