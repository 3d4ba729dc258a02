package cli

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"reconcel/engine/discover"
)

// liveTimeout bounds one request.
const liveTimeout = 30 * time.Second

// A liveCluster is a cluster as one command sees it.
type liveCluster struct {
	client    dynamic.Interface
	discovery discovery.DiscoveryInterfaceWithContext
	kinds     discover.Kinds // each is asked for once
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
	return &liveCluster{client: client, discovery: d, kinds: &askedOnce{kinds: discover.NewKinds(d)}}, nil
}

// askedOnce are kinds of which each question is asked once. It may be used by any
// number of goroutines.
type askedOnce struct {
	kinds      discover.Kinds
	found      memo[schema.GroupVersionKind, discover.Kind]
	versions   memo[string, []string]
	conditions memo[schema.GroupVersionKind, discover.ConditionList]
}

// Find implements discover.Kinds.
func (a *askedOnce) Find(ctx context.Context, gvk schema.GroupVersionKind) (discover.Kind, error) {
	return a.found.get(gvk, func() (discover.Kind, error) { return a.kinds.Find(ctx, gvk) })
}

// Versions implements discover.Kinds.
func (a *askedOnce) Versions(ctx context.Context, group string) ([]string, error) {
	return a.versions.get(group, func() ([]string, error) { return a.kinds.Versions(ctx, group) })
}

// Conditions implements discover.Kinds. A kind whose schema is not published gets no
// conditions, as from an engine that has waited for it.
func (a *askedOnce) Conditions(ctx context.Context, gvk schema.GroupVersionKind) (discover.ConditionList, error) {
	return a.conditions.get(gvk, func() (discover.ConditionList, error) {
		list, err := a.kinds.Conditions(ctx, gvk)
		if _, unknown := errors.AsType[discover.NoKindError](err); unknown {
			return discover.NoConditions, nil
		}
		return list, err
	})
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
