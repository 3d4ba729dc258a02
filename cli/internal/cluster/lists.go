package cluster

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/pager"

	"reconcel/cli/internal/output"
	"reconcel/engine/discover"
	"reconcel/rules"
)

// Lists are lists of a cluster. Each is requested once.
type Lists struct {
	cluster *Cluster
	known   memo[listed, []*unstructured.Unstructured]
	mu      sync.Mutex
	whole   map[schema.GroupVersionResource]bool
}

type listed struct {
	gvr       schema.GroupVersionResource
	namespace string
}

// NewLists returns the lists of a cluster. It sends no request.
func NewLists(of *Cluster) *Lists {
	return &Lists{cluster: of, whole: map[schema.GroupVersionResource]bool{}}
}

// NeedWhole says that metadata is not enough for the objects of a kind.
func (l *Lists) NeedWhole(k *discover.Kind) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.whole[k.GVR] = true
}

// Of returns the objects of a kind in a namespace. In all namespaces, and of a
// cluster-scoped kind, it returns only those with the label of a rule. Without a status,
// objects have only their metadata unless NeedWhole asks for more.
func (l *Lists) Of(ctx context.Context, k *discover.Kind, namespace string) ([]*unstructured.Unstructured, error) {
	if !k.Namespaced {
		namespace = metav1.NamespaceAll
	}
	options := metav1.ListOptions{}
	if namespace == metav1.NamespaceAll {
		options.LabelSelector = rules.LabelRule
	}
	return l.known.get(listed{k.GVR, namespace}, func() (all []*unstructured.Unstructured, err error) {
		l.mu.Lock()
		whole := k.Status || l.whole[k.GVR]
		l.mu.Unlock()
		add := func(u *unstructured.Unstructured) { all = append(all, u) }
		if whole {
			err = ForEach(ctx, l.cluster.Resource(k, namespace), options, add)
		} else {
			err = l.cluster.forEachMetadata(ctx, k, namespace, options, add)
		}
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", k.GVR.Resource, err)
		}
		return all, nil
	})
}

// forEachMetadata is ForEach for objects with nothing but their metadata.
func (c *Cluster) forEachMetadata(ctx context.Context, k *discover.Kind, namespace string, options metav1.ListOptions,
	visit func(*unstructured.Unstructured)) error {
	pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return c.Metadata.Resource(k.GVR).Namespace(namespace).List(ctx, options)
	})
	return pages.EachListItem(ctx, options, func(o runtime.Object) error {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if err != nil {
			return err
		}
		u := &unstructured.Unstructured{Object: content}
		u.SetGroupVersionKind(k.GVK)
		visit(u)
		return nil
	})
}

// A Follower runs informers until their context ends.
type Follower struct {
	Complain  func(format string, args ...any)
	repeated  output.Damper // of complaints
	following sync.WaitGroup
}

// Say complains, once.
func (f *Follower) Say(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); f.repeated.IsDue(text, time.Now()) {
		f.Complain("%s", text)
	}
}

// Start runs an informer of a kind, which keeps of objects only what reduced returns.
func (f *Follower) Start(ctx context.Context, k discover.Kind, informer cache.SharedIndexInformer,
	reduced cache.TransformFunc, handler cache.ResourceEventHandler) error {
	if err := informer.SetTransform(reduced); err != nil {
		return err
	}
	err := informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, _ *cache.Reflector, err error) {
		if ctx.Err() == nil && !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
			f.Say("%s cannot be watched: %v", k.GVK.GroupKind(), err)
		}
	})
	if err != nil {
		return err
	}
	if _, err = informer.AddEventHandler(handler); err == nil {
		f.following.Go(func() { informer.RunWithContext(ctx) })
	}
	return err
}

// Wait waits until all informers have stopped.
func (f *Follower) Wait() { f.following.Wait() }
