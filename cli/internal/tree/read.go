package tree

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	"reconcel/cli/internal/cluster"
	"reconcel/cli/internal/rendered"
	"reconcel/engine/discover"
	"reconcel/rules"
)

// A Query names the resource.
type Query struct {
	Program   *rules.Program // nil: the kinds of children come from inventories
	Target    cluster.Target
	Namespace string
}

// A Reader reads trees of one resource.
type Reader struct {
	query   Query
	cluster *cluster.Cluster
	served  []discover.Kind
	primary *rules.Primary // nil: the rules are not known
	kind    *discover.Kind // of the resource

	problems []string            // that last
	listed   map[listedKind]bool // of the last tree
}

type listedKind struct {
	kind      discover.Kind
	namespace string
}

// New finds the kind of the resource.
func New(ctx context.Context, live *cluster.Cluster, q Query) (*Reader, error) {
	r := &Reader{query: q, cluster: live}
	served, incomplete, err := live.Served(ctx)
	if err != nil {
		return nil, err
	}
	if r.served = served; incomplete != nil {
		for line := range strings.Lines(incomplete.Error()) {
			r.problem("%s; its objects are not in the tree", strings.TrimSpace(line))
		}
	}
	if q.Program != nil {
		r.primary, r.kind, err = live.Primary(ctx, q.Program, q.Target)
		if err != nil && !discover.IsUnavailable(err) || r.kind != nil {
			return r, err
		}
	}
	r.kind, err = q.Target.KindIn(served, incomplete)
	return r, err
}

func (r *Reader) problem(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(r.problems, text) {
		r.problems = append(r.problems, text)
	}
}

// Read reads the tree as it is now.
func (r *Reader) Read(ctx context.Context) (*Report, error) {
	self, err := r.cluster.Named(ctx, r.kind, r.query.Namespace, r.query.Target)
	if err != nil {
		return nil, err
	}
	lists := cluster.NewLists(r.cluster)
	state, err := rendered.ResourceOf(ctx, r.cluster, r.kind, self)
	if err != nil {
		return nil, err
	}
	created := self.GetCreationTimestamp()
	root := &Node{APIVersion: self.GetAPIVersion(), Kind: self.GetKind(), Namespace: self.GetNamespace(),
		Name: self.GetName(), UID: self.GetUID(),
		Finding: rendered.Finding{State: state.State, Message: state.Message}, Created: &created}
	b := newBuilder(self)
	r.listed = map[listedKind]bool{{*r.kind, self.GetNamespace()}: true}
	namespaces := map[string]bool{}
	if self.GetNamespace() != "" {
		namespaces[self.GetNamespace()] = true
	}
	var children []*unstructured.Unstructured
	if r.primary != nil && !rules.IsBundle(self) {
		children, err = r.render(ctx, lists, b, root, self)
	} else {
		children, err = r.inventoried(ctx, lists, self)
	}
	if err != nil {
		return nil, err
	}
	for _, u := range children {
		b.add(u)
		if u.GetNamespace() != "" {
			namespaces[u.GetNamespace()] = true
		}
	}
	for _, namespace := range slices.Sorted(maps.Keys(namespaces)) {
		if err := r.listAll(ctx, lists, b, namespace); err != nil {
			return nil, err
		}
	}
	if uid := ownerUID(self); uid != root.UID {
		b.owned[root.UID] = append(b.owned[root.UID], b.owned[uid]...)
	}
	b.grow(root)
	root.sort()
	return &Report{Tree: root, Problems: append(append([]string{}, r.problems...), b.otherUnread()...)}, nil
}

// render adds what the rules render, and returns the objects of the resource.
func (r *Reader) render(ctx context.Context, lists *cluster.Lists, b *builder, root *Node,
	self *unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	resource, err := rendered.Read(ctx, r.cluster, lists, r.primary, self)
	if err != nil {
		return nil, err
	}
	out, err := resource.Render(ctx)
	if err != nil {
		return nil, err
	}
	for i := range out.Rules {
		b.want(root, &out.Rules[i], resource.Find)
	}
	for gvk, why := range resource.Unread {
		known := slices.ContainsFunc(root.Children,
			func(n *Node) bool { return n.Kind == gvk.Kind && n.APIVersion == gvk.GroupVersion().String() })
		if !known {
			root.Children = append(root.Children,
				&Node{APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind,
					Finding: rendered.Finding{State: rendered.Unread, Message: why.Error()}})
		}
	}
	return resource.Objects(), nil
}

// inventoried returns the objects of the resource in all namespaces, of the kinds in the
// inventories. The others are in the namespace of the resource.
func (r *Reader) inventoried(ctx context.Context, lists *cluster.Lists,
	self *unstructured.Unstructured) (found []*unstructured.Unstructured, err error) {
	for _, gvk := range r.inventoriedKinds(ctx, primaryKind(self)) {
		k, err := r.cluster.Find(ctx, gvk)
		if discover.IsUnavailable(err) {
			continue // A problem of Served.
		}
		if err != nil {
			return nil, err
		}
		if k == nil {
			continue
		}
		objects, err := lists.Of(ctx, k, metav1.NamespaceAll)
		switch {
		case err != nil && ctx.Err() == nil:
			r.problem("objects in other namespaces may be missing: %s", err)
		case err != nil:
			return nil, err
		}
		for _, u := range objects {
			if slices.Contains(ownersOf(u), ownerUID(self)) {
				found = append(found, u)
			}
		}
	}
	return found, nil
}

// primaryKind returns the kind of a resource as its inventory and its objects name it.
func primaryKind(self *unstructured.Unstructured) schema.GroupKind {
	if rules.IsBundle(self) {
		return rules.BundleKind.GroupKind()
	}
	return self.GroupVersionKind().GroupKind()
}

// ownerUID returns the UID of a resource as its objects name it.
func ownerUID(self *unstructured.Unstructured) types.UID {
	return rules.UIDOf(primaryKind(self), self)
}

// inventoriedKinds returns the kinds of children that an inventory has for a kind.
func (r *Reader) inventoriedKinds(ctx context.Context, of schema.GroupKind) (all []schema.GroupVersionKind) {
	inventories, err := r.cluster.Inventories(ctx)
	for _, stored := range inventories {
		entries, err := stored.Entries()
		if err != nil {
			r.problem("inventory %s: %s", stored, err)
		}
		for _, entry := range entries {
			if entry.Primary() == of {
				all = append(all, entry.Kinds()...)
			}
		}
	}
	if err != nil {
		r.problem("objects in other namespaces may be missing, because the inventories cannot be read (-f gives the "+
			"rules): %s", err)
	}
	slices.SortFunc(all, func(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(all)
}

// listAll adds the objects of all kinds in a namespace.
func (r *Reader) listAll(ctx context.Context, lists *cluster.Lists, b *builder, namespace string) error {
	var kinds []*discover.Kind
	for i := range r.served {
		if k := &r.served[i]; k.Namespaced && !isPassedOver(k.GVK.GroupKind()) {
			kinds = append(kinds, k)
		}
	}
	const inFlight = 8
	var mu sync.Mutex
	workqueue.ParallelizeUntil(ctx, inFlight, len(kinds), func(i int) {
		objects, err := lists.Of(ctx, kinds[i], namespace)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case apierrors.IsForbidden(err):
			b.unread[unreadKind{kinds[i].GVK.GroupKind(), namespace}] = err.Error()
		case apierrors.IsNotFound(err), apierrors.IsMethodNotSupported(err): // It was just removed, or cannot be listed.
		case err != nil && ctx.Err() == nil:
			r.problem("%s; the objects of this kind in namespace %s are not in the tree", err, namespace)
		case err == nil:
			r.listed[listedKind{*kinds[i], namespace}] = true
			for _, u := range objects {
				b.add(u)
			}
		}
	})
	return ctx.Err()
}

// isPassedOver reports whether a kind has no objects with an owner, and many without.
func isPassedOver(gk schema.GroupKind) bool {
	return gk.Kind == "Event" || gk.Group == "metrics.k8s.io" || gk == schema.GroupKind{Kind: "Endpoints"}
}

// otherUnread names the kinds that may not be listed and have no place in the tree.
func (b *builder) otherUnread() (problems []string) {
	kinds := map[string][]string{}
	for at := range b.unread {
		if !b.used[at] {
			kinds[at.namespace] = append(kinds[at.namespace], at.gk.String())
		}
	}
	for _, namespace := range slices.Sorted(maps.Keys(kinds)) {
		slices.Sort(kinds[namespace])
		problems = append(problems, fmt.Sprintf("may not be listed in namespace %s, so their objects are not in the tree: %s",
			namespace, strings.Join(kinds[namespace], ", ")))
	}
	return problems
}
