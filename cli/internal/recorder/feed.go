package recorder

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"reconcel/engine"
	"reconcel/engine/discover"
	"reconcel/rules"
)

// A change is one of an object; see recording.Event.
type change struct {
	old, now *unstructured.Unstructured
	version  string
}

// A feed brings the changes of all watches into one order.
type feed struct {
	ready chan struct{} // receives when there is a change

	mu      sync.Mutex
	changes []change
	version string // the newest
	objects map[string]*unstructured.Unstructured
}

// kindsOf returns the kinds that rules read. A kind whose children alone are read has their label selector.
func kindsOf(program *rules.Program) map[runtimeschema.GroupVersionKind]string {
	all := map[runtimeschema.GroupVersionKind]string{}
	for _, p := range program.Primaries() {
		for _, r := range p.Rules {
			for _, c := range r.Children {
				all[c.GVK] = rules.LabelRule
			}
		}
	}
	for _, p := range program.Primaries() {
		if p.ForCluster() {
			all[rules.BundleObject] = ""
			continue
		}
		all[p.GVK] = ""
		for _, r := range p.Rules {
			for _, l := range r.Lookups {
				all[l.GVK] = ""
			}
		}
	}
	return all
}

// watchKinds watches the kinds of the rules that the API server serves. It returns when all are listed.
func watchKinds(ctx context.Context, o Options, secrets *withheld) (*feed, error) {
	f := &feed{ready: make(chan struct{}, 1), version: "0", objects: map[string]*unstructured.Unstructured{}}
	kinds := kindsOf(o.Rules.Program)
	var synced []cache.InformerSynced
	for _, gvk := range slices.SortedFunc(maps.Keys(kinds), func(a, b runtimeschema.GroupVersionKind) int { return cmp.Compare(a.String(), b.String()) }) {
		k, err := o.Cluster.Kinds.Find(ctx, gvk)
		if discover.IsNoKind(err) || discover.IsUnavailable(err) {
			o.Log.Warn("kind not served, its rules are recorded without it", "kind", gvk.String(), "error", err)
			continue
		}
		if err != nil {
			return nil, err
		}
		namespaces := o.Policy.Namespaces
		if len(namespaces) == 0 || !k.Namespaced {
			namespaces = []string{metav1.NamespaceAll}
		}
		for _, namespace := range namespaces {
			informer := dynamicinformer.NewFilteredDynamicInformer(o.Watches, k.GVR, namespace, 0, cache.Indexers{}, func(list *metav1.ListOptions) {
				list.LabelSelector = kinds[gvk]
			}).Informer()
			if err := informer.SetTransform(secrets.transform); err != nil {
				return nil, err
			}
			handler, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
				AddFunc:    func(now any) { f.add(nil, now) },
				UpdateFunc: f.add,
				DeleteFunc: func(old any) { f.add(old, nil) },
			})
			if err != nil {
				return nil, err
			}
			synced = append(synced, handler.HasSynced)
			go informer.RunWithContext(ctx)
		}
	}
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return nil, errors.New("stopped before everything was listed")
	}
	return f, nil
}

// add adds a change. A list that is repeated may bring an object again that has not changed.
func (f *feed) add(old, now any) {
	if last, ok := old.(cache.DeletedFinalStateUnknown); ok {
		old = last.Obj
	}
	before, _ := old.(*unstructured.Unstructured)
	after, _ := now.(*unstructured.Unstructured)
	if before != nil && after != nil && before.GetResourceVersion() == after.GetResourceVersion() {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, u := range []*unstructured.Unstructured{before, after} {
		if u == nil {
			continue
		}
		if order, err := resourceversion.CompareResourceVersion(f.version, u.GetResourceVersion()); err == nil && order < 0 {
			f.version = u.GetResourceVersion()
		}
	}
	f.changes = append(f.changes, change{before, after, f.version})
	select {
	case f.ready <- struct{}{}:
	default: // It has been told already.
	}
}

// next returns the next change, if there is any.
func (f *feed) next() (c change, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.changes) == 0 {
		return change{}, false
	}
	c, f.changes = f.changes[0], f.changes[1:]
	return c, true
}

// snapshot returns the objects after all changes so far, sorted.
func (f *feed) snapshot() (s engine.Snapshot) {
	for c, ok := f.next(); ok; c, ok = f.next() {
		if c.now == nil {
			delete(f.objects, keyOf(c.old))
			continue
		}
		f.objects[keyOf(c.now)] = c.now
	}
	for _, key := range slices.Sorted(maps.Keys(f.objects)) {
		s.Objects = append(s.Objects, f.objects[key])
	}
	f.objects, s.Version = nil, f.version
	return s
}

func keyOf(u *unstructured.Unstructured) string {
	return strings.Join([]string{u.GroupVersionKind().String(), u.GetNamespace(), u.GetName()}, "\x00")
}
