package tree

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"

	"reconcel/cli/internal/cluster"
	"reconcel/cli/internal/output"
	"reconcel/cli/internal/rendered"
)

// settle is how long a follower waits for more changes before it reads the tree again.
const settle = time.Second

// A follower reads the tree again when an object of its kinds changes.
type follower struct {
	cluster.Follower
	*Reader
	changed chan struct{}
	watched map[listedKind]bool
}

// Follow prints what differs from the last report, until ctx ends.
func (r *Reader) Follow(ctx context.Context, last *Report, table *output.Table,
	complain func(format string, args ...any)) error {
	ctx, cancel := context.WithCancel(ctx)
	f := &follower{Follower: cluster.Follower{Complain: complain}, Reader: r, changed: make(chan struct{}, 1),
		watched: map[listedKind]bool{}}
	defer f.Wait()
	defer cancel()
	before := last.Tree
	for {
		if err := f.watch(ctx, before); err != nil {
			return err
		}
		if !f.settled(ctx) {
			return nil
		}
		next, err := r.Read(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			f.Say("%s", err) // The resource may come back, and so may the API server.
			continue
		}
		var lines []output.Line
		for _, n := range Changes(before, next.Tree) {
			lines = append(lines, n.line(table, "", time.Now()))
		}
		if err := table.Write(lines...); err != nil {
			return err
		}
		before = next.Tree
	}
}

// settled waits for a change, and until no more follow at once.
func (f *follower) settled(ctx context.Context) bool {
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
	informer := metadatainformer.NewFilteredMetadataInformer(f.cluster.Metadata, at.kind.GVR, at.namespace, 0,
		cache.Indexers{}, nil).Informer()
	reduced := func(obj any) (any, error) {
		if o, ok := obj.(*metav1.PartialObjectMetadata); ok {
			o.ObjectMeta = metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name, UID: o.UID,
				ResourceVersion: o.ResourceVersion}
		}
		return obj, nil
	}
	return f.Start(ctx, at.kind, informer, reduced, cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { f.signal() }, // An object of the initial list may be newer than the tree.
		UpdateFunc: func(_, _ any) { f.signal() },
		DeleteFunc: func(any) { f.signal() },
	})
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
	known := map[string]rendered.Finding{}
	before.walk(func(n *Node, _ string) { known[n.key()] = n.Finding })
	now := map[string]bool{}
	after.walk(func(n *Node, _ string) {
		now[n.key()] = true
		if known[n.key()] != n.Finding {
			all = append(all, n)
		}
	})
	before.walk(func(n *Node, _ string) {
		if !now[n.key()] && n.UID != "" {
			gone := *n
			gone.Finding, gone.Children = rendered.Finding{State: rendered.Deleted}, nil
			all = append(all, &gone)
		}
	})
	return all
}
