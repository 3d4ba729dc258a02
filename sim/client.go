package sim

import (
	"context"
	"errors"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"reconcel/rules/schema"
)

// Client returns a client of the cluster. The name identifies it in the list of writes,
// and in managedFields if a request names no manager.
func (c *Cluster) Client(by string) dynamic.Interface { return client{c, by} }

type client struct {
	cluster *Cluster
	by      string
}

func (c client) Resource(gvr runtimeschema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return resource{client: c, gvr: gvr}
}

// A resource is a client for one kind, in one namespace or in all.
type resource struct {
	client
	gvr       runtimeschema.GroupVersionResource
	namespace string
}

func (r resource) Namespace(namespace string) dynamic.ResourceInterface {
	r.namespace = namespace
	return r
}

// A call holds what the methods of a resource have in common.
type call struct {
	verb, name   string
	manager      string
	force        *bool
	dryRun       []string
	validation   string // of fields
	subresources []string
}

// request checks the path of a call.
func (r resource) request(ctx context.Context, call call) (*request, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	k := r.cluster.Kinds().byResource[r.gvr]
	subresource := strings.Join(call.subresources, "/")
	switch {
	case k == nil, r.namespace != "" && !k.Namespaced, !hasSubresource(k, subresource) && !k.Custom:
		return nil, errNotServed(r.gvr, call.verb)
	case !hasSubresource(k, subresource):
		return nil, apierrors.NewNotFound(r.gvr.GroupResource(), call.name)
	}
	if call.manager == "" && call.verb != "apply" {
		call.manager, _, _ = strings.Cut(r.by, "/")
	}
	return &request{
		cluster: r.cluster, kind: k, namespace: r.namespace, name: call.name, subresource: subresource, by: r.by,
		manager: call.manager,
		force:   call.force != nil && *call.force, dryRun: slices.Contains(call.dryRun, metav1.DryRunAll),
		strict: call.validation == metav1.FieldValidationStrict,
	}, nil
}

func hasSubresource(k *schema.Kind, subresource string) bool {
	switch subresource {
	case "":
		return true
	case "status":
		return k.Status
	case "scale":
		return k.Scale
	}
	return false
}

var errUnnamed = errors.New("name is required")

// write serves a write while the cluster is locked.
func (r resource) write(ctx context.Context, call call,
	serve func(*request) (*unstructured.Unstructured, error)) (*unstructured.Unstructured, error) {
	req, err := r.request(ctx, call)
	if err != nil {
		return nil, err
	}
	if call.name == "" && call.verb != "create" {
		return nil, errUnnamed
	}
	r.cluster.mu.Lock()
	defer r.cluster.mu.Unlock()
	return req.logged(call.verb, func() (*unstructured.Unstructured, error) { return serve(req) })
}

func (r resource) Create(ctx context.Context, obj *unstructured.Unstructured, options metav1.CreateOptions,
	subresources ...string) (*unstructured.Unstructured, error) {
	if len(subresources) > 0 {
		return nil, errNotServed(r.gvr, "create")
	}
	return r.write(ctx, call{verb: "create", manager: options.FieldManager, dryRun: options.DryRun},
		func(req *request) (*unstructured.Unstructured, error) {
			body, err := decodeBody(obj)
			if err != nil {
				return nil, err
			}
			return req.create(body)
		})
}

func (r resource) Update(ctx context.Context, obj *unstructured.Unstructured, options metav1.UpdateOptions,
	subresources ...string) (*unstructured.Unstructured, error) {
	return r.write(ctx, call{verb: "update", name: obj.GetName(), manager: options.FieldManager, dryRun: options.DryRun,
		subresources: subresources},
		func(req *request) (*unstructured.Unstructured, error) {
			body, err := decodeBody(obj)
			if err != nil {
				return nil, err
			}
			return req.update(body)
		})
}

// decodeBody returns an object as the API server decodes it: a copy in which numbers have
// the types of their JSON.
func decodeBody(u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	data, err := u.MarshalJSON()
	if err != nil {
		return nil, err
	}
	arrived := &unstructured.Unstructured{}
	return arrived, arrived.UnmarshalJSON(data)
}

func (r resource) UpdateStatus(ctx context.Context, obj *unstructured.Unstructured,
	options metav1.UpdateOptions) (*unstructured.Unstructured, error) {
	return r.Update(ctx, obj, options, "status")
}

func (r resource) Patch(ctx context.Context, name string, kind types.PatchType, data []byte,
	options metav1.PatchOptions, subresources ...string) (*unstructured.Unstructured, error) {
	verb := "patch"
	if kind == types.ApplyPatchType {
		verb = "apply"
	}
	return r.write(ctx, call{verb: verb, name: name, manager: options.FieldManager, force: options.Force,
		dryRun: options.DryRun, validation: options.FieldValidation, subresources: subresources},
		func(req *request) (*unstructured.Unstructured, error) { return req.patch(kind, data) })
}

func (r resource) Apply(ctx context.Context, name string, obj *unstructured.Unstructured, options metav1.ApplyOptions,
	subresources ...string) (*unstructured.Unstructured, error) {
	data, err := obj.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return r.Patch(ctx, name, types.ApplyPatchType, data, options.ToPatchOptions(), subresources...)
}

func (r resource) ApplyStatus(ctx context.Context, name string, obj *unstructured.Unstructured,
	options metav1.ApplyOptions) (*unstructured.Unstructured, error) {
	return r.Apply(ctx, name, obj, options, "status")
}

func (r resource) Delete(ctx context.Context, name string, options metav1.DeleteOptions, subresources ...string) error {
	if len(subresources) > 0 {
		return errNotServed(r.gvr, "delete")
	}
	_, err := r.write(ctx, call{verb: "delete", name: name, dryRun: options.DryRun},
		func(req *request) (*unstructured.Unstructured, error) { return nil, req.delete(options) })
	return err
}

func (r resource) DeleteCollection(ctx context.Context, options metav1.DeleteOptions, which metav1.ListOptions) error {
	list, err := r.List(ctx, which)
	if err != nil {
		return err
	}
	for i := range list.Items {
		in := r
		in.namespace = list.Items[i].GetNamespace()
		if err := in.Delete(ctx, list.Items[i].GetName(), options); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

func (r resource) Get(ctx context.Context, name string, _ metav1.GetOptions,
	subresources ...string) (*unstructured.Unstructured, error) {
	req, err := r.request(ctx, call{verb: "get", name: name, subresources: subresources})
	if err != nil {
		return nil, err
	}
	if name == "" {
		return nil, errUnnamed
	}
	r.cluster.mu.Lock()
	defer r.cluster.mu.Unlock()
	if f := r.cluster.failure(req, "get"); f != nil {
		return nil, f.Err
	}
	u := req.live()
	switch {
	case u == nil:
		return nil, req.notFound()
	case req.subresource == "scale":
		return req.scale(u)
	}
	return u.DeepCopy(), nil
}

// List lists objects.
func (r resource) List(ctx context.Context, options metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	req, err := r.request(ctx, call{verb: "list"})
	if err != nil {
		return nil, err
	}
	selected, err := Selects(req.kind, options)
	if err != nil {
		return nil, err
	}
	gvk := req.kind.GVK
	list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": gvk.GroupVersion().String(),
		"kind": gvk.Kind + "List"}}
	all, version, err := r.cluster.snapshot(req)
	if err != nil {
		return nil, err
	}
	list.SetResourceVersion(version)
	for _, u := range all { // Nobody changes stored objects, so that the cluster can go on.
		if u = r.cluster.Read(u, gvk); selected(u) {
			list.Items = append(list.Items, *u.DeepCopy())
		}
	}
	return list, nil
}

// snapshot returns the objects of a list and their resourceVersion.
func (c *Cluster) snapshot(r *request) ([]*unstructured.Unstructured, string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.failure(r, "list"); f != nil {
		return nil, "", f.Err
	}
	return c.sorted(r.kind.GVK.GroupKind(), r.namespace), c.versionLocked(), nil
}

// Objects returns the objects of a kind in a namespace, or in all, by namespace and name, and their resourceVersion, to
// the client of this name. Do not change them: they are no copies.
func (c *Cluster) Objects(by string, k *schema.Kind, namespace string) ([]*unstructured.Unstructured, string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.failure(&request{cluster: c, kind: k, namespace: namespace, by: by}, "list"); f != nil {
		return nil, "", f.Err
	}
	all := c.sorted(k.GVK.GroupKind(), namespace)
	for i, u := range all {
		all[i] = c.Read(u, k.GVK)
	}
	return all, c.versionLocked(), nil
}

// Watch is not supported: see Changes.
func (r resource) Watch(context.Context, metav1.ListOptions) (watch.Interface, error) {
	return nil, apierrors.NewMethodNotSupported(r.gvr.GroupResource(), "watch")
}
