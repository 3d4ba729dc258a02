package cli

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"reconcel/cli/internal/exit"
)

// A statusFollower prints changes after a report. It keeps only the state of each
// resource.
type statusFollower struct {
	app    *app
	wanted func(resourceState) bool
	table  *statusTable
	cancel context.CancelFunc // stops the follower

	mu     sync.Mutex
	known  map[types.UID]said
	failed error    // why printing failed
	told   []string // errors of watches that are already printed
}

// said is the state of a resource when it was last compared.
type said struct {
	state           resourceState
	reason, message string
}

// watchStatus prints changes until ctx ends, and reports whether a resource is
// stalled then. It skips kinds without conditions, because nothing shows their
// state.
func (a *app) watchStatus(ctx context.Context, r *statusReader, table *statusTable) (stalled bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f := &statusFollower{app: a, wanted: r.wanted, table: table, cancel: cancel, known: map[types.UID]said{}}
	for i := range r.Resources {
		f.known[r.Resources[i].UID] = r.Resources[i].said()
	}
	var following sync.WaitGroup
	for _, k := range r.kinds {
		if k.kind == nil || k.reports == noConditions {
			continue
		}
		informer, err := f.informer(r, k)
		if err != nil {
			return false, exit.Failure(err)
		}
		following.Go(func() { informer.RunWithContext(ctx) })
	}
	<-ctx.Done()
	following.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.known {
		stalled = stalled || s.state == stateStalled
	}
	return stalled, f.failed
}

// informer watches the resources of a kind. Its cache keeps only what is printed.
func (f *statusFollower) informer(r *statusReader, k *statusKind) (cache.SharedIndexInformer, error) {
	namespace := r.namespace
	if !k.kind.Namespaced {
		namespace = ""
	}
	informer := dynamicinformer.NewFilteredDynamicInformer(r.cluster.Client, k.kind.GVR, namespace, 0, cache.Indexers{}, nil).Informer()
	err := informer.SetTransform(func(obj any) (any, error) {
		u, ok := obj.(*unstructured.Unstructured)
		if !ok {
			return obj, nil
		}
		return &followed{Unstructured: bare(u), status: newResourceStatus(u, k.reports), counts: k.wants(u.GetName()) && k.isPrimary(u)}, nil
	})
	if err != nil {
		return nil, err
	}
	err = informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, _ *cache.Reflector, err error) {
		if ctx.Err() == nil && !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
			f.complain(fmt.Sprintf("%s cannot be watched: %v", k.gk, err))
		}
	})
	if err != nil {
		return nil, err
	}
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(obj any, initial bool) { f.changed(obj, initial) },
		UpdateFunc: func(_, obj any) { f.changed(obj, false) },
		DeleteFunc: f.deleted,
	})
	return informer, err
}

// followed is a resource in the cache of an informer.
type followed struct {
	unstructured.Unstructured
	status resourceStatus
	counts bool
}

// bare returns the fields of an object that an informer needs.
func bare(u *unstructured.Unstructured) (o unstructured.Unstructured) {
	o.SetAPIVersion(u.GetAPIVersion())
	o.SetKind(u.GetKind())
	o.SetNamespace(u.GetNamespace())
	o.SetName(u.GetName())
	o.SetUID(u.GetUID())
	o.SetResourceVersion(u.GetResourceVersion())
	return o
}

func (s *resourceStatus) said() said { return said{s.State, s.Reason, s.Message} }

// changed prints a resource if its state has changed, and if the old or the new
// state is requested. The report omits ready resources, so their old state is
// unknown; the first list of an informer does not count as a change.
func (f *statusFollower) changed(obj any, initial bool) {
	o, ok := obj.(*followed)
	if !ok || !o.counts {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	now := o.status.said()
	before, known := f.known[o.status.UID]
	f.known[o.status.UID] = now
	switch {
	case before == now, initial && !known && !f.wanted(now.state):
		return
	case f.wanted(now.state) || known && f.wanted(before.state):
		f.print(o.status)
	}
}

// deleted prints that a resource is deleted.
func (f *statusFollower) deleted(obj any) {
	if last, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = last.Obj
	}
	o, ok := obj.(*followed)
	if !ok || !o.counts {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	before, known := f.known[o.status.UID]
	delete(f.known, o.status.UID)
	if known && f.wanted(before.state) {
		gone := o.status
		gone.is("deleted", "", "", nil)
		f.print(gone)
	}
}

// print writes one line. If writing fails, it stops the follower.
func (f *statusFollower) print(s resourceStatus) {
	if err := f.table.print([]resourceStatus{s}, time.Now()); err != nil && f.failed == nil {
		f.failed = exit.Failure(fmt.Errorf("write the result: %w", err))
		f.cancel()
	}
}

// complain prints an error once.
func (f *statusFollower) complain(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Contains(f.told, text) {
		f.told = append(f.told, text)
		f.app.say("%s", text)
	}
}
