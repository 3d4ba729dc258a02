// Package cluster reads a cluster for one command, and asks for its kinds once.
package cluster

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"reconcel/engine/discover"
)

// requestTimeout bounds one request.
const requestTimeout = 30 * time.Second

// A Cluster is a cluster as one command sees it.
type Cluster struct {
	Client dynamic.Interface
	Kinds  discover.Kinds

	discovery discovery.DiscoveryInterfaceWithContext
}

// New returns a cluster. Nothing is sent yet.
func New(config *rest.Config) (*Cluster, error) {
	config = rest.CopyConfig(config)
	config.Timeout = requestTimeout
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client configuration: %w", err)
	}
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client configuration: %w", err)
	}
	return &Cluster{Client: client, discovery: d, Kinds: &cachedKinds{kinds: discover.NewKinds(d)}}, nil
}

// cachedKinds ask the API server each question once.
type cachedKinds struct {
	kinds      discover.Kinds
	found      memo[schema.GroupVersionKind, discover.Kind]
	versions   memo[string, []string]
	conditions memo[schema.GroupVersionKind, discover.ConditionList]
}

// Find implements discover.Kinds.
func (c *cachedKinds) Find(ctx context.Context, gvk schema.GroupVersionKind) (discover.Kind, error) {
	return c.found.get(gvk, func() (discover.Kind, error) { return c.kinds.Find(ctx, gvk) })
}

// Versions implements discover.Kinds.
func (c *cachedKinds) Versions(ctx context.Context, group string) ([]string, error) {
	return c.versions.get(group, func() ([]string, error) { return c.kinds.Versions(ctx, group) })
}

// Conditions implements discover.Kinds. A kind without a published schema gets no
// conditions, as from an engine that has waited for the schema.
func (c *cachedKinds) Conditions(ctx context.Context, gvk schema.GroupVersionKind) (discover.ConditionList, error) {
	return c.conditions.get(gvk, func() (discover.ConditionList, error) {
		list, err := c.kinds.Conditions(ctx, gvk)
		if discover.IsNoKind(err) {
			return discover.NoConditions, nil
		}
		return list, err
	})
}

// A memo asks for each value once.
type memo[K comparable, V any] struct{ values sync.Map }

func (m *memo[K, V]) get(key K, ask func() (V, error)) (V, error) {
	value, _ := m.values.LoadOrStore(key, sync.OnceValues(ask))
	return value.(func() (V, error))()
}
