package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/pager"

	"reconcel/engine/discover"
	"reconcel/rules"
)

// Find returns a kind, or nil if the API server does not serve it.
func (c *Cluster) Find(ctx context.Context, gvk schema.GroupVersionKind) (*discover.Kind, error) {
	k, err := c.Kinds.Find(ctx, gvk)
	switch {
	case discover.IsNoKind(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &k, nil
}

// Resource returns the client for the objects of a kind in a namespace; "" is all
// namespaces.
func (c *Cluster) Resource(k *discover.Kind, namespace string) dynamic.ResourceInterface {
	if !k.Namespaced {
		namespace = ""
	}
	return c.Client.Resource(k.GVR).Namespace(namespace)
}

// Get returns an object, or nil if it does not exist.
func Get(ctx context.Context, from dynamic.ResourceInterface, name string) (*unstructured.Unstructured, error) {
	u, err := from.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return u, err
}

// Primary returns the primary kind of rules that a target names, or nil. If a kind is
// unavailable, the target may name it in a way that only the API server knows: without another
// kind of that name, the error is an UnavailableError.
func (c *Cluster) Primary(ctx context.Context, program *rules.Program,
	t Target) (*rules.Primary, *discover.Kind, error) {
	var unknown error
	for _, p := range program.Primaries() {
		k, err := c.Find(ctx, p.GVK)
		if err != nil && !discover.IsUnavailable(err) {
			return nil, nil, err
		}
		switch {
		case !t.IsOf(p.GVK, k):
			unknown = cmp.Or(unknown, err)
		case err != nil:
			return nil, nil, err
		case k == nil:
			return nil, nil, discover.NoKindError{GVK: p.GVK}
		default:
			return p, k, nil
		}
	}
	return nil, nil, unknown
}

// Named returns the object that a target names.
func (c *Cluster) Named(ctx context.Context, k *discover.Kind, namespace string,
	t Target) (*unstructured.Unstructured, error) {
	u, err := Get(ctx, c.Resource(k, namespace), t.Name)
	if u == nil && err == nil {
		err = NotFound(k, namespace, t)
	}
	return u, err
}

// NotFound returns the error for an object that a target names and that does not exist.
func NotFound(k *discover.Kind, namespace string, t Target) error {
	if k.Namespaced {
		return fmt.Errorf("%s not found in namespace %s", t.Text, namespace)
	}
	return fmt.Errorf("%s not found", t.Text)
}

// ForEach lists objects page by page. It requests the next page while it visits the
// objects of the current one.
func ForEach(ctx context.Context, from dynamic.ResourceInterface, options metav1.ListOptions,
	visit func(*unstructured.Unstructured)) error {
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

// Served returns all kinds that can be listed, each in the version that the API server
// prefers. incomplete joins an UnavailableError for each group and version that is unknown.
func (c *Cluster) Served(ctx context.Context) (all []discover.Kind, incomplete, err error) {
	// Preferred resources alone do not say which have a status.
	groups, lists, err := c.discovery.ServerGroupsAndResourcesWithContext(ctx)
	if failed, some := discovery.GroupDiscoveryFailedErrorGroups(err); some {
		incomplete, err = unavailable(failed), nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("discover kinds: %w", err)
	}
	preferred := map[string]bool{}
	for _, g := range groups {
		preferred[g.PreferredVersion.GroupVersion] = true
	}
	slices.SortStableFunc(lists, func(a, b *metav1.APIResourceList) int {
		switch {
		case preferred[a.GroupVersion] == preferred[b.GroupVersion]:
			return 0
		case preferred[a.GroupVersion]:
			return -1
		}
		return 1
	})
	known := map[schema.GroupKind]bool{}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, nil, fmt.Errorf("discover kinds: %w", err)
		}
		for i := range list.APIResources {
			r := &list.APIResources[i]
			if gk := gv.WithKind(r.Kind).GroupKind(); slices.Contains(r.Verbs, "list") && !strings.Contains(r.Name, "/") &&
				!known[gk] {
				known[gk] = true
				all = append(all, kindOf(gv, r, list.APIResources))
			}
		}
	}
	return all, incomplete, nil
}

// unavailable returns the error for groups that discovery lacks.
func unavailable(failed map[schema.GroupVersion]error) error {
	var all []error
	for gv, err := range failed {
		if _, stale := errors.AsType[discovery.StaleGroupVersionError](err); stale {
			err = errors.New("its backend does not answer")
		}
		all = append(all, discover.UnavailableError{GV: gv, Err: err})
	}
	slices.SortFunc(all, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(all...)
}

func kindOf(gv schema.GroupVersion, r *metav1.APIResource, beside []metav1.APIResource) discover.Kind {
	return discover.Kind{
		GVK: gv.WithKind(r.Kind), GVR: gv.WithResource(r.Name), Singular: r.SingularName, Namespaced: r.Namespaced,
		Short: strings.Join(r.ShortNames, " "),
		Status: slices.ContainsFunc(beside, func(other metav1.APIResource) bool {
			return strings.TrimSuffix(other.Name, "/status") == r.Name && other.Name != r.Name
		}),
	}
}
