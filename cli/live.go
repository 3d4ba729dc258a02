package cli

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/pager"

	"reconcel/engine"
	"reconcel/rules"
)

// liveTimeout bounds one request.
const liveTimeout = 30 * time.Second

// A liveCluster is a cluster as one command reads it: everything once, when it
// is first asked for. It may be used by any number of goroutines. What it
// returns must not be changed.
type liveCluster struct {
	client    dynamic.Interface
	discovery discovery.DiscoveryInterfaceWithContext
	kinds     engine.Kinds

	found      memo[schema.GroupVersionKind, *engine.Kind]
	lists      memo[liveQuery, []*liveObject]
	families   memo[liveQuery, *liveFamily]
	objects    memo[rules.Identity, *liveObject]
	conditions memo[schema.GroupVersionKind, bool]
}

// A liveQuery asks for objects of a kind: in a namespace, or with "" in all of
// them or in none, depending on the kind.
type liveQuery struct {
	kind              engine.Kind
	namespace         string
	selector, byField string
}

// A memo holds answers, each of which is asked for once.
type memo[K comparable, V any] struct {
	mu  sync.Mutex
	all map[K]func() (V, error)
}

// get returns the answer for a key, or asks for it.
func (m *memo[K, V]) get(key K, ask func() (V, error)) (V, error) {
	m.mu.Lock()
	answer := m.all[key]
	if answer == nil {
		if m.all == nil {
			m.all = map[K]func() (V, error){}
		}
		answer = sync.OnceValues(ask)
		m.all[key] = answer
	}
	m.mu.Unlock()
	return answer()
}

func newLiveCluster(config *rest.Config) (*liveCluster, error) {
	config = rest.CopyConfig(config)
	config.Timeout = liveTimeout
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client configuration: %w", err)
	}
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client configuration: %w", err)
	}
	return &liveCluster{client: client, discovery: d, kinds: engine.Discovered(d)}, nil
}

// resource returns the client for the objects of a kind.
func (c *liveCluster) resource(k *engine.Kind, namespace string) dynamic.ResourceInterface {
	r := c.client.Resource(k.GVR)
	if namespace == "" || !k.Namespaced {
		return r
	}
	return r.Namespace(namespace)
}

// kind returns a kind, or nil if the API server does not know it.
func (c *liveCluster) kind(ctx context.Context, gvk schema.GroupVersionKind) (*engine.Kind, error) {
	return c.found.get(gvk, func() (*engine.Kind, error) {
		k, err := c.kinds.Find(ctx, gvk)
		if _, unknown := errors.AsType[engine.NoKindError](err); unknown {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return &k, nil
	})
}

// hasConditions reports whether the schema of a kind has status.conditions that
// rules may write: those of built-in kinds are Kubernetes' own.
func (c *liveCluster) hasConditions(ctx context.Context, gvk schema.GroupVersionKind) (bool, error) {
	if rules.BuiltIn(gvk.Group) {
		return false, nil
	}
	return c.conditions.get(gvk, func() (bool, error) {
		conditions, err := c.kinds.Conditions(ctx, gvk)
		if err != nil {
			return false, fmt.Errorf("read the schema of %s: %w", gvk.Kind, err)
		}
		return conditions != engine.NoConditions, nil
	})
}

// list returns the objects that a query asks for.
func (c *liveCluster) list(ctx context.Context, q liveQuery) ([]*liveObject, error) {
	return c.lists.get(q, func() (all []*liveObject, err error) {
		pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return c.resource(&q.kind, q.namespace).List(ctx, options)
		})
		err = pages.EachListItem(ctx, metav1.ListOptions{LabelSelector: q.selector, FieldSelector: q.byField}, func(o runtime.Object) error {
			u, ok := o.(*unstructured.Unstructured)
			if !ok {
				return fmt.Errorf("unexpected %T", o)
			}
			all = append(all, newLiveObject(u))
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", q.kind.GVR.Resource, err)
		}
		return all, nil
	})
}

// object returns one object, or nil if there is none.
func (c *liveCluster) object(ctx context.Context, k *engine.Kind, namespace, name string) (*liveObject, error) {
	return c.objects.get(rules.Identity{GVK: k.GVK, Namespace: namespace, Name: name}, func() (*liveObject, error) {
		u, err := c.resource(k, namespace).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read %s %s: %w", k.GVK.Kind, namespacedName(namespace, name), err)
		}
		return newLiveObject(u), nil
	})
}

// A liveFamily are the objects of one kind that rules have made, whoever owns
// them.
type liveFamily struct {
	byName  map[types.NamespacedName]*liveObject
	byOwner map[types.UID][]*liveObject
}

// children returns what rules have made of a kind.
func (c *liveCluster) children(ctx context.Context, k *engine.Kind, namespace string) (*liveFamily, error) {
	if !k.Namespaced {
		namespace = ""
	}
	q := liveQuery{kind: *k, namespace: namespace, selector: rules.LabelRule}
	return c.families.get(q, func() (*liveFamily, error) {
		list, err := c.list(ctx, q)
		if err != nil {
			return nil, err
		}
		family := &liveFamily{byName: map[types.NamespacedName]*liveObject{}, byOwner: map[types.UID][]*liveObject{}}
		for _, o := range list {
			family.byName[types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}] = o
			if owner := o.owner().UID; owner != "" {
				family.byOwner[owner] = append(family.byOwner[owner], o)
			}
		}
		return family, nil
	})
}

// namespacedName names an object of a kind for people.
func namespacedName(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}
