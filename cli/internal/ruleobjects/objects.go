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
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"reconcel/engine/outcome"
	"reconcel/rules"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// listEvery is the interval of attempts to list or watch the objects.
const listEvery = time.Second

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
	listed  chan struct{} // closed when all objects are known for the first time
	once    sync.Once     // closes listed

	mu       sync.Mutex
	unknown  error // why the objects are not known, or nil
	problem  outcome.Problem
	all      map[string]*Object
	missing  map[string]*absence
	replaced bool // the resource was gone since Run

	judged map[string]Judgement // for the status
	news   chan struct{}        // capacity 1: judged has changed
}

var errNotListed = errors.New("the Rules objects are not listed yet")

// New returns the objects of a namespace, which are not known before Run.
func New(options Options) *Objects {
	return &Objects{Options: options, changed: make(chan struct{}, 1), absent: make(chan struct{}, 1),
		listed: make(chan struct{}), news: make(chan struct{}, 1), unknown: errNotListed, all: map[string]*Object{},
		missing: map[string]*absence{}, judged: map[string]Judgement{}}
}

// Run watches the objects until ctx ends. An informer would try again more and more rarely.
func (o *Objects) Run(ctx context.Context) {
	client := o.Client.Resource(rules.RulesResource).Namespace(o.Namespace)
	reflector := cache.NewReflectorWithOptions(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list, err := client.List(ctx, options)
			o.failed(ctx, err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			w, err := client.Watch(ctx, options)
			o.ended(err)
			return w, err
		},
	}, &unstructured.Unstructured{}, store{o}, cache.ReflectorOptions{TypeDescription: rules.RulesResource.String(),
		Backoff: &wait.Backoff{Duration: listEvery, Jitter: 0.1}})
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { reflector.RunWithContext(ctx) })
	select {
	case <-ctx.Done():
	case <-o.listed:
		o.settleAbsences(ctx)
	}
}

// failed notes why the objects cannot be listed. Known objects stay known while the API server does not answer.
func (o *Objects) failed(ctx context.Context, err error) {
	if err == nil || ctx.Err() != nil || apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return
	}
	o.ended(err)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.unknown == nil && !apierrors.IsForbidden(err) {
		return
	}
	o.unknown = fmt.Errorf("the Rules objects in the namespace %s cannot be listed: %w", o.Namespace, err)
	if o.problem.IsNews(o.unknown) {
		o.Log.Warn("rules unknown, will retry", "error", o.unknown)
		signal(o.changed)
	}
}

// ended notes that the resource is gone with its objects, if an error says so.
func (o *Objects) ended(err error) {
	if !apierrors.IsNotFound(err) {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.replaced = true
	for name := range o.all {
		o.miss(name)
	}
	for name, m := range o.missing {
		if m.with == "" {
			o.lost(name, definition)
		}
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
		} else if o.replaced {
			o.lost(name, definition)
		}
		signal(o.absent)
	}
}

// A store takes the objects of a list and the events of a watch.
type store struct{ *Objects }

// Add implements cache.ReflectorStore.
func (s store) Add(object any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.see(object)
	return nil
}

// Update implements cache.ReflectorStore.
func (s store) Update(object any) error { return s.Add(object) }

// Delete implements cache.ReflectorStore.
func (s store) Delete(object any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u, ok := object.(*unstructured.Unstructured); ok {
		s.miss(u.GetName())
	}
	return nil
}

// Replace implements cache.ReflectorStore.
func (s store) Replace(objects []any, _ string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	there := map[string]bool{}
	for _, object := range objects {
		there[s.see(object)] = true
	}
	for name := range s.all {
		if !there[name] {
			s.miss(name)
		}
	}
	if s.unknown != nil {
		s.unknown, s.problem = nil, outcome.Problem{}
		signal(s.changed)
	}
	s.once.Do(func() { close(s.listed) })
	return nil
}

// Resync implements cache.ReflectorStore.
func (s store) Resync() error { return nil }

// see notes an object that is there, and returns its name.
func (o *Objects) see(object any) (name string) {
	u, ok := object.(*unstructured.Unstructured)
	if !ok {
		return ""
	}
	u.SetManagedFields(nil) // They may be as large as the rules.
	name = u.GetName()
	before, now := o.all[name], objectOf(u)
	o.all[name] = now
	delete(o.missing, name)
	if before == nil || before.live.GetUID() != u.GetUID() || before.live.GetGeneration() != u.GetGeneration() ||
		string(before.File.Data) != string(now.File.Data) {
		signal(o.changed)
	}
	return name
}

// miss notes an object that is not there any more.
func (o *Objects) miss(name string) {
	last := o.all[name]
	if last == nil {
		return
	}
	delete(o.all, name)
	o.missing[name] = &absence{created: last.Created}
	signal(o.changed)
	signal(o.absent)
}

// signal makes a channel of capacity 1 receive.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
