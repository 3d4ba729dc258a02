package rendered

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/cli/internal/cluster"
	"reconcel/engine/discover"
	"reconcel/engine/watch"
	"reconcel/rules"
	kindschema "reconcel/rules/schema"
)

// A Resource is a primary of a cluster with the objects of its rules.
type Resource struct {
	Self    *unstructured.Unstructured
	Primary *rules.Primary
	// Unread says why the objects of a kind are not known, or not all.
	Unread map[schema.GroupVersionKind]error

	owner    rules.Owner
	cluster  *cluster.Cluster
	lists    *cluster.Lists
	children map[rules.Identity]*watch.Object // of the kinds of children, whoever owns them
	failed   error                            // of a lookup: the rendering is not valid
	numbers  kindschema.NumberFields
}

// Read lists the kinds of the children, each once.
func Read(ctx context.Context, live *cluster.Cluster, lists *cluster.Lists, primary *rules.Primary, self *unstructured.Unstructured) (*Resource, error) {
	r := &Resource{Self: self, Primary: primary, Unread: map[schema.GroupVersionKind]error{}, cluster: live, lists: lists, children: map[rules.Identity]*watch.Object{}}
	r.owner = OwnerOf(self)
	var err error
	if r.numbers, err = live.NumberFields(ctx, primary.UsedKinds()); err != nil {
		return nil, err
	}
	for _, gvk := range r.kinds() {
		k, err := live.Find(ctx, gvk)
		switch {
		case discover.IsUnavailable(err):
			r.Unread[gvk] = err
		case err != nil:
			return nil, err
		case k == nil:
			r.Unread[gvk] = discover.NoKindError{GVK: gvk}
		default:
			if err := r.list(ctx, k); err != nil {
				return nil, err
			}
		}
	}
	return r, nil
}

// OwnerOf returns a resource as the owner of objects.
func OwnerOf(self *unstructured.Unstructured) rules.Owner {
	return rules.Owner{Kind: self.GroupVersionKind().GroupKind(), Namespace: self.GetNamespace(), Name: self.GetName(), UID: self.GetUID()}
}

// kinds returns the kinds of the children, in the order of the rules.
func (r *Resource) kinds() (all []schema.GroupVersionKind) {
	for _, rule := range r.Primary.Rules {
		for _, c := range rule.Children {
			if !slices.Contains(all, c.GVK) {
				all = append(all, c.GVK)
			}
		}
	}
	return all
}

// list reads the objects of one kind. If not all namespaces may be read, it reads that of
// the resource. Objects that cannot be read are unknown.
func (r *Resource) list(ctx context.Context, k *discover.Kind) error {
	namespace := r.namespace(k.GVK)
	err := r.listIn(ctx, k, namespace)
	if apierrors.IsForbidden(err) {
		r.Unread[k.GVK] = err
		if own := r.Self.GetNamespace(); k.Namespaced && namespace == metav1.NamespaceAll && own != "" {
			err = r.listIn(ctx, k, own)
		}
	}
	switch {
	case apierrors.IsForbidden(err):
		return nil
	case err != nil && ctx.Err() == nil:
		r.Unread[k.GVK] = err
		return nil
	}
	return err
}

func (r *Resource) listIn(ctx context.Context, k *discover.Kind, namespace string) error {
	r.lists.NeedWhole(k) // Expressions may read everything.
	all, err := r.lists.Of(ctx, k, namespace)
	for _, u := range all {
		r.children[rules.Identity{GVK: k.GVK, Namespace: u.GetNamespace(), Name: u.GetName()}] = watch.NewUntrimmed(u)
	}
	return err
}

// namespace returns the only namespace of the children of a kind, or NamespaceAll.
func (r *Resource) namespace(gvk schema.GroupVersionKind) string {
	found := ""
	for _, rule := range r.Primary.Rules {
		for _, c := range rule.Children {
			if c.GVK != gvk {
				continue
			}
			at := rule.ChildNamespace(c)
			name := at.Name
			if at.OfPrimary {
				name = home(r.Self)
			}
			if name == "" || found != "" && found != name {
				return metav1.NamespaceAll
			}
			found = name
		}
	}
	return found
}

// home returns the namespace of the children of a resource. Those of a Namespace are in it.
func home(self *unstructured.Unstructured) string {
	if self.GroupVersionKind().GroupKind() == (schema.GroupKind{Kind: "Namespace"}) {
		return self.GetName()
	}
	return self.GetNamespace()
}

// Objects returns the objects that belong to the resource.
func (r *Resource) Objects() (all []*unstructured.Unstructured) {
	for _, o := range r.children {
		if o.BelongsTo(r.owner) {
			all = append(all, &unstructured.Unstructured{Object: o.Content()})
		}
	}
	return all
}

// Find returns a finding that is more precise than one of OfObject: why an object that
// seems to be missing is not there, or is not known.
func (r *Resource) Find(d *rules.Desired) Finding {
	found := OfObject(d)
	if found.State != Missing {
		return found
	}
	if o := r.children[d.Identity]; o != nil {
		return Finding{Failed, "the name is taken: it exists, and is " + o.Holder()}
	}
	switch err := r.Unread[d.Identity.GVK]; {
	case discover.IsNoKind(err):
		return Finding{Missing, err.Error()}
	case err != nil:
		return Finding{Unknown, err.Error()}
	}
	return found
}
