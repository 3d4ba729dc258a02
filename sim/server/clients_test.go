package server_test

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/scale"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/ptr"

	"reconcel/sim/server"
)

// deployment returns a Deployment in Go's type.
func deployment(name string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}, Spec: appsv1.DeploymentSpec{
		Replicas: ptr.To[int32](2), Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "app", Image: "registry.example.com/app:1"}}}},
	}}
}

// TestTypedClients writes built-in kinds in both formats that typed clients speak.
func TestTypedClients(t *testing.T) {
	s := serve(t, 0)
	for _, format := range []string{"application/json", "application/vnd.kubernetes.protobuf"} {
		t.Run(format, func(t *testing.T) {
			ctx, config := t.Context(), s.config()
			config.ContentType = format
			if format != "application/json" {
				config.AcceptContentTypes = format + ",application/json"
			}
			client, err := kubernetes.NewForConfig(config)
			if err != nil {
				t.Fatal(err)
			}
			must := func(what string, err error) {
				t.Helper()
				if err != nil {
					t.Fatalf("%s: %v", what, err)
				}
			}
			all := client.AppsV1().Deployments("default")
			made, err := all.Create(ctx, deployment("web"), metav1.CreateOptions{})
			must("create", err)
			if made.UID == "" || made.Spec.Strategy.Type != appsv1.RollingUpdateDeploymentStrategyType {
				t.Errorf("created is %+v", made)
			}
			_, err = all.Create(ctx, deployment("web"), metav1.CreateOptions{})
			if !apierrors.IsAlreadyExists(err) {
				t.Errorf("a second create answers %v", err)
			}
			s.eventually("the Deployment is ready", func() bool {
				made, err = all.Get(ctx, "web", metav1.GetOptions{})
				return err == nil && made.Status.ReadyReplicas == 2
			})
			stale := made.DeepCopy()
			made.Spec.Replicas = ptr.To[int32](3)
			updated, err := all.Update(ctx, made, metav1.UpdateOptions{})
			must("update", err)
			if *updated.Spec.Replicas != 3 || updated.Generation != made.Generation+1 {
				t.Errorf("updated has %d replicas and generation %d", *updated.Spec.Replicas, updated.Generation)
			}
			if _, err = all.Update(ctx, stale, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
				t.Errorf("an update of an old object answers %v", err)
			}
			patch := `{"spec":{"template":{"spec":{"containers":[{"name":"app","env":[{"name":"A","value":"1"}]}]}}}}`
			patched, err := all.Patch(ctx, "web", types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
			must("patch", err)
			if c := patched.Spec.Template.Spec.Containers; len(c) != 1 || c[0].Image == "" || len(c[0].Env) != 1 {
				t.Errorf("patched has the containers %+v", c)
			}
			sized, err := all.UpdateScale(ctx, "web", &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"},
				Spec: autoscalingv1.ScaleSpec{Replicas: 5}}, metav1.UpdateOptions{})
			must("scale", err)
			if sized.Spec.Replicas != 5 {
				t.Errorf("the Scale has %d replicas", sized.Spec.Replicas)
			}
			list, err := all.List(ctx, metav1.ListOptions{Limit: 1})
			must("list", err)
			if len(list.Items) != 1 {
				t.Errorf("the list has %d Deployments", len(list.Items))
			}
			must("delete", all.Delete(ctx, "web", metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationForeground)}))
			s.eventually("the Deployment is gone", func() bool {
				_, err := all.Get(ctx, "web", metav1.GetOptions{})
				return apierrors.IsNotFound(err)
			})

			pods := client.CoreV1().Pods("default")
			pod, err := pods.Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "job-"}, Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Name: "main", Image: "busybox"}}}}, metav1.CreateOptions{})
			must("create a Pod", err)
			s.eventually("the Pod runs", func() bool {
				now, err := pods.Get(ctx, pod.Name, metav1.GetOptions{})
				return err == nil && now.Status.Phase == corev1.PodRunning
			})
			must("delete Pods", pods.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "!keep"}))

			maps := client.CoreV1().ConfigMaps("default")
			_, err = maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Data: map[string]string{"a": "1"},
				BinaryData: map[string][]byte{"b": {0, 255}}}, metav1.CreateOptions{})
			must("create a ConfigMap", err)
			data, err := maps.Get(ctx, "data", metav1.GetOptions{})
			must("get a ConfigMap", err)
			if data.Data["a"] != "1" || !slices.Equal(data.BinaryData["b"], []byte{0, 255}) {
				t.Errorf("the ConfigMap has %v and %v", data.Data, data.BinaryData)
			}
			must("delete a ConfigMap", maps.Delete(ctx, "data", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &data.UID}}))

			old, err := client.CoreV1().Events("default").Create(ctx, &corev1.Event{ObjectMeta: metav1.ObjectMeta{GenerateName: "core-"},
				InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: pod.Name, Namespace: "default"}, Reason: "Tested", Message: "it works",
				Type: "Normal", Count: 1}, metav1.CreateOptions{})
			must("create an Event", err)
			other, err := client.EventsV1().Events("default").Get(ctx, old.Name, metav1.GetOptions{})
			must("get the Event", err)
			if other.Note != "it works" || other.Regarding.Name != pod.Name {
				t.Errorf("in events.k8s.io, the Event is %+v", other)
			}
			newer, err := client.EventsV1().Events("default").Create(ctx, &eventsv1.Event{ObjectMeta: metav1.ObjectMeta{GenerateName: "new-"},
				EventTime: metav1.NowMicro(), ReportingController: "example.com/test", ReportingInstance: "test-1", Action: "Test",
				Reason: "Tested", Regarding: corev1.ObjectReference{Kind: "Pod", Name: pod.Name, Namespace: "default"}, Note: "so does this",
				Type: "Normal"}, metav1.CreateOptions{})
			must("create an Event of events.k8s.io", err)
			_, err = client.EventsV1().Events("default").Patch(ctx, newer.Name, types.StrategicMergePatchType,
				fmt.Appendf(nil, `{"series":{"count":2,"lastObservedTime":%q}}`, time.Now().UTC().Format(metav1.RFC3339Micro)), metav1.PatchOptions{})
			must("patch an Event of events.k8s.io", err)
			old, err = client.CoreV1().Events("default").Get(ctx, newer.Name, metav1.GetOptions{})
			must("get the newer Event", err)
			if old.Message != "so does this" || old.Series == nil || old.Series.Count != 2 {
				t.Errorf("in the core, the Event is %+v", old)
			}
			found, err := client.CoreV1().Events("default").List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=" + pod.Name})
			must("list Events", err)
			if len(found.Items) != 2 {
				t.Errorf("%d Events are about the Pod", len(found.Items))
			}
		})
	}
}

// A record holds what an informer has seen of each object last, and its events.
type record struct {
	mu     sync.Mutex
	values map[string]string
	events []string
}

func (r *record) handler() cache.ResourceEventHandlerFuncs {
	value := func(obj any) string {
		u := obj.(*unstructured.Unstructured)
		text, _, _ := unstructured.NestedString(u.Object, "data", "value")
		return text
	}
	set := func(kind string, obj any) {
		r.mu.Lock()
		defer r.mu.Unlock()
		name := obj.(metav1.Object).GetName()
		r.values[name] = value(obj)
		r.events = append(r.events, kind+" "+name)
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { set("add", obj) },
		UpdateFunc: func(_, obj any) { set("update", obj) },
		DeleteFunc: func(obj any) {
			if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = gone.Obj
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			delete(r.values, obj.(metav1.Object).GetName())
			r.events = append(r.events, "delete "+obj.(metav1.Object).GetName())
		},
	}
}

func (r *record) has(want map[string]string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return reflect.DeepEqual(r.values, want)
}

func (r *record) count(event string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if e == event {
			n++
		}
	}
	return n
}

// TestInformers lists and watches with both protocols of client-go's reflectors.
func TestInformers(t *testing.T) {
	for _, streaming := range []string{"true", "false"} {
		t.Run("WatchListClient="+streaming, func(t *testing.T) {
			t.Setenv("KUBE_FEATURE_WatchListClient", streaming)
			s := serve(t, 100)
			ctx, client := t.Context(), s.dynamic()
			maps := client.Resource(configMaps).Namespace("default")
			create := func(u *unstructured.Unstructured) {
				t.Helper()
				if _, err := maps.Create(ctx, u, metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			change := func(name, patch string) {
				t.Helper()
				if _, err := maps.Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			create(configMap("first", "1", "team", "a"))
			create(configMap("other", "1", "team", "b"))

			factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(client, 100*time.Millisecond, "default",
				func(o *metav1.ListOptions) { o.LabelSelector = "team=a" })
			seen := &record{values: map[string]string{}}
			informer := factory.ForResource(configMaps).Informer()
			if _, err := informer.AddEventHandler(seen.handler()); err != nil {
				t.Fatal(err)
			}
			stop, cancel := context.WithCancel(ctx)
			factory.Start(stop.Done())
			defer factory.Shutdown()
			defer cancel()
			s.eventually("the informer has synced", informer.HasSynced)
			s.eventually("it has the first", func() bool { return seen.has(map[string]string{"first": "1"}) })
			s.eventually("it resyncs", func() bool { return seen.count("update first") > 1 })
			create(configMap("second", "1", "team", "a"))
			change("first", `{"data":{"value":"2"}}`)
			change("other", `{"metadata":{"labels":{"team":"a"}}}`)
			s.eventually("it has all three", func() bool {
				return seen.has(map[string]string{"first": "2", "second": "1", "other": "1"})
			})
			change("other", `{"metadata":{"labels":{"team":"b"}}}`)
			if err := maps.Delete(ctx, "second", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			s.eventually("it has the first alone", func() bool { return seen.has(map[string]string{"first": "2"}) })
		})
	}
}

// TestWatchOfTheForgottenPastIsGone starts a watch at a version whose changes are forgotten, as a client that was
// disconnected does, and one that an informer recovers from.
func TestWatchOfTheForgottenPastIsGone(t *testing.T) {
	s := serve(t, 10)
	ctx, client := t.Context(), s.dynamic()
	maps := client.Resource(configMaps).Namespace("default")
	list, err := maps.List(ctx, always)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 30 {
		if _, err := maps.Create(ctx, configMap(fmt.Sprint("n", i), "1"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	w, err := maps.Watch(ctx, metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
	if !apierrors.IsResourceExpired(err) {
		t.Errorf("the watch answers %v, %v", w, err)
	}
}

// TestInformersListAgain lets an informer miss more changes than the server remembers.
func TestInformersListAgain(t *testing.T) {
	s := serve(t, 10)
	client := s.dynamic()
	maps := client.Resource(configMaps).Namespace("default")
	if _, err := maps.Create(t.Context(), configMap("gone", "1"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	var mu sync.RWMutex // held while the network is down
	down, cut := context.WithCancel(t.Context())
	config := s.config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			mu.RLock()
			defer mu.RUnlock()
			ctx, cancel := context.WithCancel(r.Context())
			context.AfterFunc(down, cancel)
			return next.RoundTrip(r.WithContext(ctx))
		})
	})
	informed, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	seen := &record{values: map[string]string{}}
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(informed, 0, "default", nil)
	if _, err := factory.ForResource(configMaps).Informer().AddEventHandler(seen.handler()); err != nil {
		t.Fatal(err)
	}
	stop, cancel := context.WithCancel(t.Context())
	factory.Start(stop.Done())
	defer factory.Shutdown()
	defer cancel()
	s.eventually("it has the object", func() bool { return seen.has(map[string]string{"gone": "1"}) })

	mu.Lock()
	cut()
	if err := maps.Delete(t.Context(), "gone", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for i := range 40 {
		want[fmt.Sprint("n", i)] = "1"
		if _, err := maps.Create(t.Context(), configMap(fmt.Sprint("n", i), "1"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	down = t.Context()
	mu.Unlock()
	s.eventually("it has what exists now", func() bool { return seen.has(want) })
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestBookmarks asks for the end of the initial events.
func TestBookmarks(t *testing.T) {
	s := serve(t, 0)
	maps := s.dynamic().Resource(configMaps).Namespace("default")
	if _, err := maps.Create(t.Context(), configMap("one", "1"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w, err := maps.Watch(t.Context(), metav1.ListOptions{SendInitialEvents: new(true), AllowWatchBookmarks: true,
		ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, TimeoutSeconds: ptr.To[int64](1)})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for e := range w.ResultChan() {
		u := e.Object.(*unstructured.Unstructured)
		got = append(got, fmt.Sprint(e.Type, " ", u.GetName(), " ", u.GetAnnotations()[metav1.InitialEventsAnnotationKey]))
	}
	if want := []string{"ADDED one ", "BOOKMARK  true", "BOOKMARK  "}; !slices.Equal(got, want) {
		t.Errorf("the events are %q, want %q", got, want)
	}
}

// TestMetadataClient reads metadata alone.
func TestMetadataClient(t *testing.T) {
	s := serve(t, 0)
	client, err := metadata.NewForConfig(s.config())
	if err != nil {
		t.Fatal(err)
	}
	maps := client.Resource(configMaps).Namespace("default")
	w, err := maps.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	if _, err := s.dynamic().Resource(configMaps).Namespace("default").Create(t.Context(), configMap("one", "1", "a", "b"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	e := <-w.ResultChan()
	if got, ok := e.Object.(*metav1.PartialObjectMetadata); !ok || got.Name != "one" || got.Labels["a"] != "b" {
		t.Errorf("the event is %+v", e)
	}
	list, err := maps.List(t.Context(), always)
	if err != nil || len(list.Items) != 1 || list.Items[0].Name != "one" || list.ResourceVersion == "" {
		t.Errorf("the list is %+v, %v", list, err)
	}
	got, err := maps.Patch(t.Context(), "one", types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"c"}}}`), metav1.PatchOptions{})
	if err != nil || got.Labels["a"] != "c" {
		t.Errorf("patched is %+v, %v", got, err)
	}
	if err := maps.Delete(t.Context(), "one", metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
}

// TestScaleClient scales a Deployment and a custom kind.
func TestScaleClient(t *testing.T) {
	s := serve(t, 0)
	client := s.dynamic()
	s.define("gadgets", "Gadget")
	gadgets := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "gadgets"}
	gadget := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Gadget",
		"metadata": map[string]any{"name": "web"}, "spec": map[string]any{"replicas": int64(1)}}}
	if _, err := client.Resource(gadgets).Namespace("default").Create(t.Context(), gadget, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	typed, err := kubernetes.NewForConfig(s.config())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := typed.AppsV1().Deployments("default").Create(t.Context(), deployment("web"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	found := discovery.NewDiscoveryClientForConfigOrDie(s.config())
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(found))
	scales, err := scale.NewForConfig(s.config(), mapper, dynamic.LegacyAPIPathResolverFunc, scale.NewDiscoveryScaleKindResolver(found))
	if err != nil {
		t.Fatal(err)
	}
	for _, gvr := range []schema.GroupVersionResource{gadgets, deployments} {
		now, err := scales.Scales("default").Get(t.Context(), gvr.GroupResource(), "web", metav1.GetOptions{})
		if err != nil {
			t.Fatal(gvr, err)
		}
		now.Spec.Replicas = 4
		if _, err := scales.Scales("default").Update(t.Context(), gvr.GroupResource(), now, metav1.UpdateOptions{}); err != nil {
			t.Fatal(gvr, err)
		}
		patched, err := scales.Scales("default").Patch(t.Context(), gvr, "web", types.MergePatchType, []byte(`{"spec":{"replicas":7}}`), metav1.PatchOptions{})
		if err != nil || patched.Spec.Replicas != 7 {
			t.Errorf("%s: the Scale is %+v, %v", gvr, patched, err)
		}
		u, err := client.Resource(gvr).Namespace("default").Get(t.Context(), "web", metav1.GetOptions{})
		if n, _, _ := unstructured.NestedInt64(u.Object, "spec", "replicas"); err != nil || n != 7 {
			t.Errorf("%s has %d replicas, %v", gvr, n, err)
		}
	}
}

// define creates a CRD, and waits until it is established.
func (s *served) define(plural, kind string) {
	s.Helper()
	client := s.dynamic().Resource(crds)
	if _, err := client.Create(s.Context(), crd(plural, kind), metav1.CreateOptions{}); err != nil {
		s.Fatal(err)
	}
	s.eventually("the CRD is established", func() bool {
		u, err := client.Get(s.Context(), plural+".example.com", metav1.GetOptions{})
		return err == nil && isEstablished(u)
	})
}

// TestLeaderElection has two candidates for a Lease. When the leader gives it up, the other one leads.
func TestLeaderElection(t *testing.T) {
	s := serve(t, 0)
	client, err := kubernetes.NewForConfig(s.config())
	if err != nil {
		t.Fatal(err)
	}
	leads := make(chan string, 2)
	var running sync.WaitGroup
	defer running.Wait()
	stop := map[string]context.CancelFunc{}
	for _, name := range []string{"a", "b"} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		stop[name] = cancel
		lock := &resourcelock.LeaseLock{LeaseMeta: metav1.ObjectMeta{Name: "lock", Namespace: "kube-system"}, Client: client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: name}}
		elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{Lock: lock, LeaseDuration: 20 * time.Second,
			RenewDeadline: 15 * time.Second, RetryPeriod: 50 * time.Millisecond, ReleaseOnCancel: true,
			Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) { leads <- name }, OnStoppedLeading: func() {}}})
		if err != nil {
			t.Fatal(err)
		}
		running.Go(func() { elector.Run(ctx) })
	}
	next := func() string {
		t.Helper()
		select {
		case name := <-leads:
			return name
		case <-time.After(soon):
			t.Fatal("nobody leads")
			return ""
		}
	}
	first := next()
	stop[first]()
	second := next()
	lease, err := client.CoordinationV1().Leases("kube-system").Get(t.Context(), "lock", metav1.GetOptions{})
	if first == second || err != nil || *lease.Spec.HolderIdentity != second || *lease.Spec.LeaseTransitions < 1 {
		t.Errorf("first %s led, then %s, and the Lease is %+v, %v", first, second, lease.Spec, err)
	}
}

// TestDiscoveryFollowsDefinitions maps a custom kind while its CRD is there.
func TestDiscoveryFollowsDefinitions(t *testing.T) {
	s := serve(t, 0)
	client := discovery.NewDiscoveryClientForConfigOrDie(s.config())
	mapped := func(kind schema.GroupKind) bool {
		groups, err := restmapper.GetAPIGroupResources(client)
		if err != nil {
			t.Fatal(err)
		}
		_, err = restmapper.NewDiscoveryRESTMapper(groups).RESTMapping(kind)
		if err != nil && !meta.IsNoMatchError(err) {
			t.Fatal(err)
		}
		return err == nil
	}
	gadget := schema.GroupKind{Group: "example.com", Kind: "Gadget"}
	if mapped(gadget) || !mapped(schema.GroupKind{Group: "apps", Kind: "Deployment"}) {
		t.Fatal("the built-in kinds are not those that are mapped")
	}
	for range 2 {
		s.define("gadgets", "Gadget")
		if !mapped(gadget) {
			t.Fatal("an established kind is not mapped")
		}
		if err := s.dynamic().Resource(crds).Delete(t.Context(), "gadgets.example.com", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		s.eventually("the kind is not mapped", func() bool { return !mapped(gadget) })
	}
}

// TestADefinitionThatServesNothingCanBeDeleted deletes a CRD whose objects no request can reach any more.
func TestADefinitionThatServesNothingCanBeDeleted(t *testing.T) {
	s := serve(t, 0)
	client := s.dynamic()
	s.define("gadgets", "Gadget")
	gadgets := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "gadgets"}
	gadget := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Gadget",
		"metadata": map[string]any{"name": "one"}}}
	if _, err := client.Resource(gadgets).Namespace("default").Create(t.Context(), gadget, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	patch := `[{"op":"replace","path":"/spec/versions/0/served","value":false}]`
	if _, err := client.Resource(crds).Patch(t.Context(), "gadgets.example.com", types.JSONPatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	s.eventually("the kind is not served", func() bool {
		_, err := client.Resource(gadgets).Namespace("default").Get(t.Context(), "one", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	if err := client.Resource(crds).Delete(t.Context(), "gadgets.example.com", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.eventually("the CRD and its objects are gone", func() bool {
		_, err := client.Resource(crds).Get(t.Context(), "gadgets.example.com", metav1.GetOptions{})
		return apierrors.IsNotFound(err) && s.cluster.Find(schema.GroupKind{Group: "example.com", Kind: "Gadget"}, "default", "one") == nil
	})
}

// TestEstablishedKindsAreServed creates CRDs in a burst. Whoever sees that one is established can use its kind.
func TestEstablishedKindsAreServed(t *testing.T) {
	const n = 40
	s := serve(t, 0)
	client := s.dynamic()
	began := time.Now()
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			plural, kind := fmt.Sprintf("things%d", i), fmt.Sprintf("Thing%d", i)
			ctx := t.Context()
			created, err := client.Resource(crds).Create(ctx, crd(plural, kind), metav1.CreateOptions{})
			if err != nil {
				t.Error(err)
				return
			}
			w, err := client.Resource(crds).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + created.GetName(),
				ResourceVersion: created.GetResourceVersion(), TimeoutSeconds: new(int64(soon.Seconds()))})
			if err != nil {
				t.Error(err)
				return
			}
			defer w.Stop()
			for e := range w.ResultChan() {
				if u, ok := e.Object.(*unstructured.Unstructured); !ok || !isEstablished(u) {
					continue
				}
				gvr := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: plural}
				if _, err := client.Resource(gvr).Namespace("default").Create(ctx, &unstructured.Unstructured{Object: map[string]any{
					"apiVersion": "example.com/v1", "kind": kind, "metadata": map[string]any{"name": "one"}}}, metav1.CreateOptions{}); err != nil {
					t.Errorf("%s is established: %v", kind, err)
				}
				return
			}
			t.Errorf("%s is not established", kind)
		})
	}
	all.Wait()
	t.Logf("%d CRDs took %v", n, time.Since(began).Round(time.Millisecond))
}

// TestListsNeedTheOlderOpenAPI reads what kubectl reads before it applies a List. A document without kinds leaves their
// validation to the server.
func TestListsNeedTheOlderOpenAPI(t *testing.T) {
	client, err := discovery.NewDiscoveryClientForConfig(serve(t, 0).config())
	if err != nil {
		t.Fatal(err)
	}
	document, err := client.OpenAPISchema()
	if err != nil {
		t.Fatal(err)
	}
	text, err := client.RESTClient().Get().AbsPath("/openapi/v2").Do(t.Context()).Raw()
	if err != nil {
		t.Fatal(err)
	}
	want := `{"info":{"title":"Kubernetes","version":"` + server.KubernetesVersion + `"},"paths":{},"swagger":"2.0"}`
	if document.GetSwagger() != "2.0" || len(document.GetDefinitions().GetAdditionalProperties()) > 0 || strings.TrimSpace(string(text)) != want {
		t.Errorf("the document is %v, and in JSON %s", document, text)
	}
}

// TestReadsFollowTheDefinition reads and watches an object of a CRD that has lost a field since the object was written.
func TestReadsFollowTheDefinition(t *testing.T) {
	gears, before := redefine(t, serve(t, 0).dynamic())
	if spec := firstWatched(t, gears, before); !reflect.DeepEqual(spec, redefined) {
		t.Errorf("a watch from before it was created shows the spec %v, want %v", spec, redefined)
	}
}

// redefined is the spec of the object of redefine after its CRD has lost the field size.
var redefined = map[string]any{"replicas": int64(1)}

// redefine creates a CRD and an object, removes a field from the CRD, and compares what get, list and watch show. It
// returns the resourceVersion before the object was created.
func redefine(t *testing.T, client dynamic.Interface) (gears dynamic.ResourceInterface, before string) {
	t.Helper()
	s, ctx, definition := &served{T: t}, t.Context(), crd("gears", "Gear")
	if _, err := client.Resource(crds).Create(ctx, definition, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	gears = client.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "gears"}).Namespace("default")
	s.eventually("Gears are served", func() bool {
		list, err := gears.List(ctx, always)
		if err == nil {
			before = list.GetResourceVersion()
		}
		return err == nil
	})
	gear := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Gear",
		"metadata": map[string]any{"name": "one"}, "spec": map[string]any{"size": int64(2), "replicas": int64(1)}}}
	if _, err := gears.Create(ctx, gear, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	patch := `[{"op":"remove","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/size"}]`
	if _, err := client.Resource(crds).Patch(ctx, definition.GetName(), types.JSONPatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	s.eventually("get shows the Gear without the field", func() bool {
		u, err := gears.Get(ctx, "one", metav1.GetOptions{})
		return err == nil && reflect.DeepEqual(u.Object["spec"], redefined)
	})
	list, err := gears.List(ctx, always)
	if err != nil {
		t.Fatal(err)
	}
	if spec := list.Items[0].Object["spec"]; !reflect.DeepEqual(spec, redefined) {
		t.Errorf("the list shows the spec %v, want %v", spec, redefined)
	}
	if spec := firstWatched(t, gears, ""); !reflect.DeepEqual(spec, redefined) {
		t.Errorf("a watch shows the spec %v, want %v", spec, redefined)
	}
	versions := []string{list.Items[0].GetResourceVersion()}
	for range 2 {
		u, err := gears.Patch(ctx, "one", types.MergePatchType, []byte("{}"), metav1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
		versions = append(versions, u.GetResourceVersion())
	}
	if versions[0] == versions[1] || versions[1] != versions[2] {
		t.Errorf("the resourceVersions are %v, but the first write removes the field, and the second one changes nothing", versions)
	}
	return gears, before
}

// firstWatched returns the spec of the first object of a watch.
func firstWatched(t *testing.T, client dynamic.ResourceInterface, version string) any {
	t.Helper()
	w, err := client.Watch(t.Context(), metav1.ListOptions{ResourceVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	select {
	case event := <-w.ResultChan():
		u, isObject := event.Object.(*unstructured.Unstructured)
		if !isObject {
			t.Fatalf("the watch from %q answers %v", version, event.Object)
		}
		return u.Object["spec"]
	case <-time.After(soon):
		t.Fatalf("after %v, not yet: the watch from %q shows an object", soon, version)
	}
	return nil
}
