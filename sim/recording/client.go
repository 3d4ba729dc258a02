package recording

import (
	"context"
	"encoding/json"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"reconcel/engine/discover"
)

// ask answers a call, and stores the answer in the value at out.
type ask func(c *Call, out any, live func() (any, error)) error

// A client turns requests into calls. live is nil in a replay.
type client struct {
	ask  ask
	live dynamic.Interface
}

// Resource implements dynamic.Interface.
func (c client) Resource(gvr schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return resource{client: c, gvr: gvr}
}

// A resource has the verbs that the engine uses. Others panic.
type resource struct {
	dynamic.ResourceInterface
	client
	gvr       schema.GroupVersionResource
	namespace string
}

// Namespace implements dynamic.NamespaceableResourceInterface.
func (r resource) Namespace(namespace string) dynamic.ResourceInterface {
	r.namespace = namespace
	return r
}

// to returns the live client.
func (r resource) to() dynamic.ResourceInterface {
	return r.live.Resource(r.gvr).Namespace(r.namespace)
}

func (r resource) call(verb, name string, options any, subresources []string) *Call {
	text, _ := json.Marshal(options) // These types are always valid JSON.
	return &Call{
		Verb: verb, Resource: strings.Join([]string{r.gvr.Group, r.gvr.Version, r.gvr.Resource}, "/"), Namespace: r.namespace, Name: name,
		Subresource: strings.Join(subresources, "/"), Options: text,
	}
}

func (r resource) one(c *Call, live func() (any, error)) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	if err := r.ask(c, u, live); err != nil {
		return nil, err
	}
	return u, nil
}

// Get implements dynamic.ResourceInterface.
func (r resource) Get(ctx context.Context, name string, o metav1.GetOptions, sub ...string) (*unstructured.Unstructured, error) {
	return r.one(r.call("get", name, o, sub), func() (any, error) { return r.to().Get(ctx, name, o, sub...) })
}

// List implements dynamic.ResourceInterface.
func (r resource) List(ctx context.Context, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	list := &unstructured.UnstructuredList{}
	err := r.ask(r.call("list", "", o, nil), list, func() (any, error) { return r.to().List(ctx, o) })
	return list, err
}

// Create implements dynamic.ResourceInterface.
func (r resource) Create(ctx context.Context, u *unstructured.Unstructured, o metav1.CreateOptions, sub ...string) (*unstructured.Unstructured, error) {
	return r.written(r.call("create", u.GetName(), o, sub), u, func() (any, error) { return r.to().Create(ctx, u, o, sub...) })
}

// Update implements dynamic.ResourceInterface.
func (r resource) Update(ctx context.Context, u *unstructured.Unstructured, o metav1.UpdateOptions, sub ...string) (*unstructured.Unstructured, error) {
	return r.written(r.call("update", u.GetName(), o, sub), u, func() (any, error) { return r.to().Update(ctx, u, o, sub...) })
}

func (r resource) written(c *Call, u *unstructured.Unstructured, live func() (any, error)) (*unstructured.Unstructured, error) {
	body, err := u.MarshalJSON()
	if err != nil {
		return nil, err
	}
	c.Body = string(body)
	return r.one(c, live)
}

// Patch implements dynamic.ResourceInterface.
func (r resource) Patch(ctx context.Context, name string, how types.PatchType, body []byte, o metav1.PatchOptions, sub ...string) (*unstructured.Unstructured, error) {
	c := r.call("patch", name, o, sub)
	c.Type, c.Body = string(how), string(body)
	return r.one(c, func() (any, error) { return r.to().Patch(ctx, name, how, body, o, sub...) })
}

// Delete implements dynamic.ResourceInterface.
func (r resource) Delete(ctx context.Context, name string, o metav1.DeleteOptions, sub ...string) error {
	return r.ask(r.call("delete", name, o, sub), nil, func() (any, error) { return nil, r.to().Delete(ctx, name, o, sub...) })
}

// kinds turns questions about kinds into calls.
type kinds struct {
	ask  ask
	live discover.Kinds
}

// Find implements discover.Kinds.
func (k kinds) Find(ctx context.Context, gvk schema.GroupVersionKind) (found discover.Kind, err error) {
	err = k.ask(&Call{Verb: findVerb, Resource: gvk.String()}, &found, func() (any, error) { return k.live.Find(ctx, gvk) })
	return found, err
}

// Versions implements discover.Kinds.
func (k kinds) Versions(ctx context.Context, group string) (all []string, err error) {
	err = k.ask(&Call{Verb: versionsVerb, Resource: group}, &all, func() (any, error) { return k.live.Versions(ctx, group) })
	return all, err
}

// Ownership implements discover.Kinds.
func (k kinds) Ownership(ctx context.Context, gvk schema.GroupVersionKind) (o discover.Ownership, err error) {
	err = k.ask(&Call{Verb: ownershipVerb, Resource: gvk.String()}, &o, func() (any, error) { return k.live.Ownership(ctx, gvk) })
	return o, err
}
