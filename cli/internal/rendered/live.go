package rendered

import (
	"context"

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

// A Live is a primary of a cluster with the objects of its rules.
type Live struct {
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
func Read(ctx context.Context, live *cluster.Cluster, lists *cluster.Lists, primary *rules.Primary,
	self *unstructured.Unstructured) (*Live, error) {
	v := &Live{Self: self, Primary: primary, Unread: map[schema.GroupVersionKind]error{}, cluster: live, lists: lists,
		children: map[rules.Identity]*watch.Object{}}
	kind := primary.GVK.GroupKind()
	v.owner = rules.Owner{Kind: kind, Namespace: self.GetNamespace(), Name: self.GetName(),
		UID: rules.UIDOf(kind, self)}
	var err error
	if v.numbers, err = live.NumberFields(ctx, primary.UsedKinds()); err != nil {
		return nil, err
	}
	for gvk, namespace := range v.namespaces() {
		k, err := live.Find(ctx, gvk)
		switch {
		case discover.IsUnavailable(err):
			v.Unread[gvk] = err
		case err != nil:
			return nil, err
		case k == nil:
			v.Unread[gvk] = discover.NoKindError{GVK: gvk}
		default:
			if err := v.list(ctx, k, namespace); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// namespaces returns the only namespace of the children of each kind, or NamespaceAll.
func (v *Live) namespaces() map[schema.GroupVersionKind]string {
	all := map[schema.GroupVersionKind]string{}
	for _, rule := range v.Primary.Rules {
		for _, c := range rule.Children {
			at := rule.ChildNamespace(c)
			if at.OfPrimary {
				at.Name = home(v.Self)
			}
			if other, known := all[c.GVK]; known && other != at.Name {
				at.Name = metav1.NamespaceAll
			}
			all[c.GVK] = at.Name
		}
	}
	return all
}

// home returns the namespace of the children of a resource. Those of a Namespace are in it.
func home(self *unstructured.Unstructured) string {
	if self.GroupVersionKind().GroupKind() == (schema.GroupKind{Kind: "Namespace"}) {
		return self.GetName()
	}
	return self.GetNamespace()
}

// list reads the objects of one kind. If not all namespaces may be read, it reads that of
// the resource. Objects that cannot be read are unknown.
func (v *Live) list(ctx context.Context, k *discover.Kind, namespace string) error {
	err := v.listIn(ctx, k, namespace)
	if own := v.Self.GetNamespace(); apierrors.IsForbidden(err) && k.Namespaced && namespace == metav1.NamespaceAll &&
		own != "" {
		v.Unread[k.GVK] = err
		err = v.listIn(ctx, k, own)
	}
	if err == nil || ctx.Err() != nil {
		return err
	}
	if v.Unread[k.GVK] == nil || !apierrors.IsForbidden(err) {
		v.Unread[k.GVK] = err
	}
	return nil
}

func (v *Live) listIn(ctx context.Context, k *discover.Kind, namespace string) error {
	v.lists.NeedWhole(k) // Expressions may read everything.
	all, err := v.lists.Of(ctx, k, namespace)
	for _, u := range all {
		v.children[rules.Identity{GVK: k.GVK, Namespace: u.GetNamespace(), Name: u.GetName()}] = watch.NewUntrimmed(u)
	}
	return err
}

// Objects returns the objects that belong to the resource.
func (v *Live) Objects() (all []*unstructured.Unstructured) {
	for _, o := range v.children {
		if o.BelongsTo(v.owner) {
			all = append(all, &unstructured.Unstructured{Object: o.Content()})
		}
	}
	return all
}

// Find returns a finding that is more precise than one of OfObject: why an object that
// seems to be missing is not there, or is not known.
func (v *Live) Find(d *rules.Desired) Finding {
	found := OfObject(d)
	if found.State != Missing {
		return found
	}
	if o := v.children[d.Identity]; o != nil {
		return Finding{Failed, "the name is taken: it exists, and is " + o.Holder()}
	}
	switch err := v.Unread[d.Identity.GVK]; {
	case discover.IsNoKind(err):
		return Finding{Missing, err.Error()}
	case err != nil:
		return Finding{Unread, err.Error()}
	}
	return found
}
