// Package cluster reads a cluster for one command, and requests each kind once.
package cluster

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"reconcel/engine/answer"
	"reconcel/engine/discover"
	kindschema "reconcel/rules/schema"
)

const requestTimeout = 30 * time.Second

// A Cluster is a client with the kinds that one command has requested.
type Cluster struct {
	Client   dynamic.Interface
	Metadata metadata.Interface // for objects whose status is not needed
	Kinds    discover.Kinds

	discovery discovery.DiscoveryInterfaceWithContext
	schemas   memo[schema.GroupVersion, *kindschema.Set]
}

// New returns a cluster. It sends no request.
func New(config *rest.Config) (*Cluster, error) {
	config = rest.CopyConfig(config)
	config.Timeout = requestTimeout
	config.Wrap(answer.RejectGateway404)
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client configuration: %w", err)
	}
	bare, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client configuration: %w", err)
	}
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client configuration: %w", err)
	}
	return &Cluster{Client: client, Metadata: bare, discovery: d, Kinds: &cachedKinds{kinds: discover.NewKinds(d)}}, nil
}

// cachedKinds send each question to the API server once.
type cachedKinds struct {
	kinds     discover.Kinds
	found     memo[schema.GroupVersionKind, discover.Kind]
	versions  memo[string, []string]
	ownership memo[schema.GroupVersionKind, discover.Ownership]
}

// Find implements discover.Kinds.
func (c *cachedKinds) Find(ctx context.Context, gvk schema.GroupVersionKind) (discover.Kind, error) {
	return c.found.get(gvk, func() (discover.Kind, error) { return c.kinds.Find(ctx, gvk) })
}

// Versions implements discover.Kinds.
func (c *cachedKinds) Versions(ctx context.Context, group string) ([]string, error) {
	return c.versions.get(group, func() ([]string, error) { return c.kinds.Versions(ctx, group) })
}

// Ownership implements discover.Kinds. A kind without a published schema has no
// conditions, as in an engine that has stopped waiting for the schema.
func (c *cachedKinds) Ownership(ctx context.Context, gvk schema.GroupVersionKind) (discover.Ownership, error) {
	return c.ownership.get(gvk, func() (discover.Ownership, error) {
		o, err := c.kinds.Ownership(ctx, gvk)
		if discover.IsNoKind(err) {
			return discover.Ownership{}, nil
		}
		return o, err
	})
}

// A memo computes each value once.
type memo[K comparable, V any] struct{ values sync.Map }

func (m *memo[K, V]) get(key K, ask func() (V, error)) (V, error) {
	value, _ := m.values.LoadOrStore(key, sync.OnceValues(ask))
	return value.(func() (V, error))()
}
