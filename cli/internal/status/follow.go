package status

import (
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"reconcel/cli/internal/cluster"
	"reconcel/cli/internal/output"
	"reconcel/cli/internal/rendered"
)

// A follower prints changes after a report. It keeps only the state of each
// resource.
type follower struct {
	cluster.Follower
	reader *Reader
	table  *output.Table
	cancel context.CancelFunc // stops the follower

	mu     sync.Mutex
	known  map[types.UID]compared
	failed error // why printing failed
}

// compared is the part of a resource whose changes are printed.
type compared struct {
	state           rendered.State
	reason, message string
}

func comparedOf(r *rendered.Resource) compared { return compared{r.State, r.Reason, r.Message} }

// Follow prints changes until ctx ends, and reports whether a resource is stalled
// then. It skips kinds without conditions, because nothing shows their state.
func (r *Reader) Follow(ctx context.Context, table *output.Table,
	complain func(format string, args ...any)) (isStalled bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f := &follower{Follower: cluster.Follower{Complain: complain}, reader: r, table: table, cancel: cancel,
		known: map[types.UID]compared{}}
	for i := range r.Resources {
		f.known[r.Resources[i].UID] = comparedOf(&r.Resources[i])
	}
	for _, k := range r.kinds {
		if k.served != nil && k.HasConditions {
			if err := f.follow(ctx, k); err != nil {
				return false, err
			}
		}
	}
	<-ctx.Done()
	f.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.known {
		isStalled = isStalled || s.state == rendered.Stalled
	}
	return isStalled, f.failed
}

// followed is a resource in the cache of an informer.
type followed struct {
	metav1.ObjectMeta // only the fields that an informer needs
	resource          rendered.Resource
	counts            bool
}

// follow watches the resources of a kind. Its cache keeps only what is printed.
func (f *follower) follow(ctx context.Context, k *kind) error {
	namespace := f.reader.Namespace
	if !k.served.Namespaced {
		namespace = ""
	}
	informer := dynamicinformer.NewFilteredDynamicInformer(f.reader.cluster.Client, k.served.GVR, namespace, 0,
		cache.Indexers{}, nil).Informer()
	reduced := func(obj any) (any, error) {
		u, ok := obj.(*unstructured.Unstructured)
		if !ok {
			return obj, nil
		}
		meta := metav1.ObjectMeta{Namespace: u.GetNamespace(), Name: u.GetName(), UID: u.GetUID(),
			ResourceVersion: u.GetResourceVersion()}
		return &followed{meta, k.Resource(u), k.counts(u)}, nil
	}
	return f.Start(ctx, *k.served, informer, reduced, cache.ResourceEventHandlerFuncs{
		AddFunc:    f.changed,
		UpdateFunc: func(_, obj any) { f.changed(obj) },
		DeleteFunc: f.deleted,
	})
}

// changed prints a resource if its state has changed, and if the old or the new
// state is listed. The old state of a resource that the report omits is unknown.
func (f *follower) changed(obj any) {
	o, ok := obj.(*followed)
	if !ok || !o.counts {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	now := comparedOf(&o.resource)
	before, known := f.known[o.UID]
	f.known[o.UID] = now
	if before != now && (f.reader.lists(now.state) || known && f.reader.lists(before.state)) {
		f.print(o.resource)
	}
}

// deleted prints that a resource is deleted.
func (f *follower) deleted(obj any) {
	if last, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = last.Obj
	}
	o, ok := obj.(*followed)
	if !ok || !o.counts {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	before, known := f.known[o.UID]
	delete(f.known, o.UID)
	if known && f.reader.lists(before.state) {
		gone := o.resource
		gone.State, gone.Reason, gone.Message, gone.Since = rendered.Deleted, "", "", nil
		f.print(gone)
	}
}

// print writes one line. If writing fails, it stops the follower.
func (f *follower) print(r rendered.Resource) {
	if err := f.reader.Write(f.table, []rendered.Resource{r}, time.Now()); err != nil && f.failed == nil {
		f.failed = err
		f.cancel()
	}
}
