package ruleobjects

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"reconcel/engine/outcome"
	"reconcel/rules"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// listEvery is the interval of attempts to list the objects for the first time.
const listEvery = 2 * time.Second

// Options say which objects to watch.
type Options struct {
	Client    dynamic.Interface // writes only while this process leads
	Discovery *discovery.DiscoveryClient
	Namespace string
	Log       *slog.Logger
}

// Objects are the Rules objects of a namespace. Run watches them.
type Objects struct {
	Options
	changed chan struct{} // capacity 1: List has another result
	absent  chan struct{} // capacity 1: an object is missing
	listed  chan struct{} // closed when all objects are known

	mu      sync.Mutex
	unknown error // why the objects are not known, or nil
	all     map[string]*Object
	missing map[string]*absence
	suspect map[string]bool // the resource was gone since they were seen: what a list lacks was deleted with it

	judged map[string]Judgement // for the status
	news   chan struct{}        // capacity 1: judged has changed
}

var errNotListed = errors.New("the Rules objects are not listed yet")

// New returns the objects of a namespace, which are not known before Run.
func New(options Options) *Objects {
	return &Objects{Options: options, changed: make(chan struct{}, 1), absent: make(chan struct{}, 1),
		listed: make(chan struct{}), news: make(chan struct{}, 1), unknown: errNotListed, all: map[string]*Object{},
		missing: map[string]*absence{}, suspect: map[string]bool{}, judged: map[string]Judgement{}}
}

// Run watches the objects until ctx ends.
func (o *Objects) Run(ctx context.Context) {
	if !o.awaitResource(ctx) {
		return
	}
	var running sync.WaitGroup
	defer running.Wait()
	informer := dynamicinformer.NewFilteredDynamicInformer(o.Client, rules.RulesResource, o.Namespace, 0, cache.Indexers{},
		nil).Informer()
	_ = informer.SetTransform(withoutManagers) // It fails only for an informer that runs.
	_ = informer.SetWatchErrorHandlerWithContext(o.watchFailed)
	handled, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: o.see, UpdateFunc: func(_, now any) { o.see(now) }, DeleteFunc: o.miss,
	})
	if err != nil {
		o.Log.Error("Rules objects not watched", "error", err)
		return
	}
	running.Go(func() { informer.RunWithContext(ctx) })
	if !cache.WaitForCacheSync(ctx.Done(), handled.HasSynced) {
		return
	}
	o.mu.Lock()
	o.unknown = nil
	o.mu.Unlock()
	close(o.listed)
	signal(o.changed)
	o.settleAbsences(ctx)
}

// withoutManagers drops what may be as large as the rules and is of no use here.
func withoutManagers(object any) (any, error) {
	if u, ok := object.(*unstructured.Unstructured); ok {
		u.SetManagedFields(nil)
	}
	return object, nil
}

// awaitResource waits until the objects can be listed. An informer would try again more and more rarely. It returns
// false if ctx ends first.
func (o *Objects) awaitResource(ctx context.Context) bool {
	var problem outcome.Problem
	for {
		_, err := o.Client.Resource(rules.RulesResource).Namespace(o.Namespace).List(ctx, metav1.ListOptions{Limit: 1})
		if err == nil || ctx.Err() != nil {
			return err == nil
		}
		err = fmt.Errorf("the Rules objects in the namespace %s cannot be listed: %w", o.Namespace, err)
		o.mu.Lock()
		o.unknown = err
		o.mu.Unlock()
		if problem.IsNews(err) {
			o.Log.Warn("rules unknown, will retry", "error", err)
			signal(o.changed)
		}
		outcome.Sleep(ctx, listEvery)
	}
}

// Await waits until all objects are known, or for a time.
func (o *Objects) Await(ctx context.Context, patience time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case <-ctx.Done():
	case <-o.listed:
	}
}

// Changed returns a channel that receives when List may have another result.
func (o *Objects) Changed() <-chan struct{} { return o.changed }

// List returns the objects by name. The error says why they are not known; then those that are expected are lost.
func (o *Objects) List() (all []Object, unknown error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(o.missing)) {
		lost := Object{Lost: true, Why: o.missing[name].why, with: o.missing[name].with}
		lost.File.Name = syntax.ObjectFile(o.Namespace, name)
		all = append(all, lost)
	}
	for _, name := range slices.Sorted(maps.Keys(o.all)) {
		all = append(all, *o.all[name])
	}
	slices.SortFunc(all, func(a, b Object) int { return cmp.Compare(a.File.Name, b.File.Name) })
	return all, o.unknown
}

// Expect takes the files of objects that were there, or were lost, when the rules became active last.
func (o *Objects) Expect(files []source.File) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, f := range files {
		name := syntax.ObjectIn(f.Name)
		if o.all[name] != nil || o.missing[name] != nil {
			continue
		}
		o.missing[name] = &absence{}
		if with := deletedWith(f); with != "" {
			o.missing[name].lose(with)
		}
		signal(o.absent)
	}
}

// see notes an object that is there.
func (o *Objects) see(object any) {
	u, ok := object.(*unstructured.Unstructured)
	if !ok {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	name := u.GetName()
	before, now := o.all[name], objectOf(u)
	o.all[name] = now
	delete(o.missing, name)
	delete(o.suspect, name)
	if before == nil || before.live.GetUID() != u.GetUID() || before.live.GetGeneration() != u.GetGeneration() ||
		string(before.File.Data) != string(now.File.Data) {
		signal(o.changed)
	}
}

// miss notes an object that is not there any more.
func (o *Objects) miss(object any) {
	last, unseen := object.(cache.DeletedFinalStateUnknown)
	if unseen {
		object = last.Obj
	}
	u, ok := object.(*unstructured.Unstructured)
	if !ok {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	name := u.GetName()
	delete(o.all, name)
	o.missing[name] = &absence{}
	if unseen && o.suspect[name] {
		o.missing[name].lose(definition)
	}
	signal(o.changed)
	signal(o.absent)
}

// watchFailed notes that the resource is gone: what the next list lacks was deleted with it.
func (o *Objects) watchFailed(ctx context.Context, reflector *cache.Reflector, err error) {
	if apierrors.IsNotFound(err) {
		o.mu.Lock()
		for name := range o.all {
			o.suspect[name] = true
		}
		o.mu.Unlock()
	}
	cache.DefaultWatchErrorHandler(ctx, reflector, err)
}

// signal makes a channel of capacity 1 receive.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
