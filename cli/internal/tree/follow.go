package tree

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"

	"reconcel/cli/internal/output"
)

// settle is how long a follower waits for more changes before it reads the tree again.
const settle = time.Second

// A follower reads the tree again when an object of its kinds changes.
type follower struct {
	*Reader
	complain  func(format string, args ...any)
	repeated  output.Damper // of complaints
	changed   chan struct{}
	watched   map[listedKind]bool
	following sync.WaitGroup
}

// Follow prints what differs from the last report, until ctx ends.
func (r *Reader) Follow(ctx context.Context, last *Report, table *Table, complain func(format string, args ...any)) error {
	ctx, cancel := context.WithCancel(ctx)
	f := &follower{Reader: r, complain: complain, changed: make(chan struct{}, 1), watched: map[listedKind]bool{}}
	defer f.following.Wait()
	defer cancel()
	before := last.Tree
	for {
		if err := f.watch(ctx, before); err != nil {
			return err
		}
		if !f.wait(ctx) {
			return nil
		}
		next, err := r.Read(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			f.say("%s", err) // The resource may come back, and so may the API server.
			continue
		}
		if changes := Changes(before, next.Tree); len(changes) > 0 {
			if err := table.WriteChanges(changes, time.Now()); err != nil {
				return err
			}
		}
		before = next.Tree
	}
}

func (f *follower) say(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); f.repeated.IsDue(text, time.Now()) {
		f.complain("%s", text)
	}
}

// wait waits for a change, and until no more follow at once.
func (f *follower) wait(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-f.changed:
	}
	timer := time.NewTimer(settle)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// watch starts the watches that the tree needs and that do not run yet: of its kinds, and
// of those that may join it.
func (f *follower) watch(ctx context.Context, root *Node) error {
	wanted := map[unreadKind]bool{}
	root.walk(func(n *Node, _ string) {
		gv, _ := schema.ParseGroupVersion(n.APIVersion)
		gk := schema.GroupKind{Group: gv.Group, Kind: n.Kind}
		wanted[unreadKind{gk, n.Namespace}] = true
		for _, more := range dependents[gk] {
			wanted[unreadKind{more, n.Namespace}] = true
		}
	})
	for at := range f.listed {
		if f.watched[at] || !wanted[unreadKind{at.kind.GVK.GroupKind(), at.namespace}] {
			continue
		}
		f.watched[at] = true
		if err := f.start(ctx, at); err != nil {
			return err
		}
	}
	return nil
}

// start watches the metadata of the objects of a kind. Their resourceVersion is enough.
func (f *follower) start(ctx context.Context, at listedKind) error {
	informer := metadatainformer.NewFilteredMetadataInformer(f.cluster.Metadata, at.kind.GVR, at.namespace, 0, cache.Indexers{}, nil).Informer()
	err := informer.SetTransform(func(obj any) (any, error) {
		if o, ok := obj.(*metav1.PartialObjectMetadata); ok {
			o.ObjectMeta = metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name, UID: o.UID, ResourceVersion: o.ResourceVersion}
		}
		return obj, nil
	})
	if err != nil {
		return err
	}
	err = informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, _ *cache.Reflector, err error) {
		if ctx.Err() == nil && !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
			f.say("%s cannot be watched: %v", at.kind.GVK.GroupKind(), err)
		}
	})
	if err != nil {
		return err
	}
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(any, bool) { f.signal() }, // An object of the initial list may be newer than the tree.
		UpdateFunc: func(_, _ any) { f.signal() },
		DeleteFunc: func(any) { f.signal() },
	})
	if err == nil {
		f.following.Go(func() { informer.RunWithContext(ctx) })
	}
	return err
}

func (f *follower) signal() {
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// Changes returns the nodes of a tree whose state differs from an earlier one, and those
// that are gone.
func Changes(before, after *Node) (all []*Node) {
	type said struct {
		state   State
		message string
	}
	known := map[string]said{}
	before.walk(func(n *Node, _ string) { known[n.key()] = said{n.State, n.Message} })
	now := map[string]bool{}
	after.walk(func(n *Node, _ string) {
		now[n.key()] = true
		if known[n.key()] != (said{n.State, n.Message}) {
			all = append(all, n)
		}
	})
	before.walk(func(n *Node, _ string) {
		if !now[n.key()] && n.UID != "" {
			gone := *n
			gone.State, gone.Message, gone.Children = deleted, "", nil
			all = append(all, &gone)
		}
	})
	return all
}
