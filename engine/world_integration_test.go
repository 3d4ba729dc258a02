//go:build integration

package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"

	"reconcel/engine"
	"reconcel/internal/devcluster"
	"reconcel/rules"
	"reconcel/rules/syntax"
)

// A world is one test's corner of the cluster: a namespace of its own, in
// which an engine works and the test acts as everybody else. Its rules have
// names that no other world's have: an engine takes what a rule of the same
// name has made elsewhere for something that the rule has left.
type world struct {
	*testing.T
	cluster   *devcluster.Cluster
	namespace string
	client    dynamic.Interface
	mapper    *restmapper.DeferredDiscoveryRESTMapper
	wrap      func(http.RoundTripper) http.RoundTripper // between the engines and the API server, or nil
}

// newWorld returns a world that others exist beside. What most tests do is
// wait.
func newWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	return newWorldAlone(t)
}

// newWorldAlone returns a world beside which there is no other, for a test
// that measures how long the engine takes.
func newWorldAlone(t *testing.T) *world {
	t.Helper()
	cluster := devcluster.Shared(t)
	config := cluster.Config()
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, cluster: cluster, client: client, mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(d))}
	namespace := w.create("apiVersion: v1\nkind: Namespace\nmetadata: {generateName: test-}\n")
	w.namespace = namespace.GetName()
	t.Cleanup(func() {
		err := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}).Delete(context.Background(), w.namespace, metav1.DeleteOptions{})
		if err != nil {
			t.Errorf("clean up: %v", err)
		}
	})
	return w
}

// fooCRD reads the CRD of Foos.
func (w *world) fooCRD() string {
	w.Helper()
	data, err := os.ReadFile(filepath.Join("..", "crds", "samplecontroller.k8s.io_foos.yaml"))
	if err != nil {
		w.Fatal(err)
	}
	return string(data)
}

// resource returns the client for a kind in the world's namespace.
func (w *world) resource(gvk schema.GroupVersionKind) dynamic.ResourceInterface {
	w.Helper()
	var mapping, err = w.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		w.mapper.Reset()
		if mapping, err = w.mapper.RESTMapping(gvk.GroupKind(), gvk.Version); err != nil {
			w.Fatal(err)
		}
	}
	if mapping.Scope.Name() == "namespace" {
		return w.client.Resource(mapping.Resource).Namespace(w.namespace)
	}
	return w.client.Resource(mapping.Resource)
}

func parse(t *testing.T, manifest string) []*unstructured.Unstructured {
	t.Helper()
	var objects []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(manifest), 4096)
	for {
		u := &unstructured.Unstructured{}
		err := decoder.Decode(&u.Object)
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, manifest)
		}
		if len(u.Object) > 0 {
			objects = append(objects, u)
		}
	}
}

// own puts the name of the world's namespace in the place of NAMESPACE.
func (w *world) own(text string) string { return strings.ReplaceAll(text, "NAMESPACE", w.namespace) }

// create creates the objects of a manifest, and returns the last.
func (w *world) create(manifest string) (last *unstructured.Unstructured) {
	w.Helper()
	for _, u := range parse(w.T, w.own(manifest)) {
		var err error
		if last, err = w.resource(u.GroupVersionKind()).Create(w.Context(), u, metav1.CreateOptions{FieldManager: "driver"}); err != nil {
			w.Fatalf("create %s %s: %v", u.GetKind(), u.GetName(), err)
		}
	}
	return last
}

// crd creates a CRD if it is not there yet, and waits until it is served.
func (w *world) crd(manifest string) {
	w.Helper()
	for _, u := range parse(w.T, manifest) {
		crds := w.resource(u.GroupVersionKind())
		if _, err := crds.Create(w.Context(), u, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			w.Fatal(err)
		}
		w.eventually("CRD "+u.GetName()+" to be established", func() error {
			live, err := crds.Get(w.Context(), u.GetName(), metav1.GetOptions{})
			if err != nil {
				return err
			}
			return condition(live, "Established", "True")
		})
	}
}

func gvk(apiVersion, kind string) schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(apiVersion, kind)
}

var (
	deployments = gvk("apps/v1", "Deployment")
	configs     = gvk("v1", "ConfigMap")
	foos        = gvk("samplecontroller.k8s.io/v1alpha1", "Foo")
	widgets     = gvk("test.reconcel.dev/v1", "Widget")
)

// get returns an object, or nil when there is none.
func (w *world) get(kind schema.GroupVersionKind, name string) *unstructured.Unstructured {
	w.Helper()
	u, err := w.resource(kind).Get(w.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		w.Fatal(err)
	}
	return u
}

// patch merges JSON into an object.
func (w *world) patch(kind schema.GroupVersionKind, name, body string, subresources ...string) *unstructured.Unstructured {
	w.Helper()
	u, err := w.resource(kind).Patch(w.Context(), name, types.MergePatchType, []byte(body), metav1.PatchOptions{FieldManager: "driver"}, subresources...)
	if err != nil {
		w.Fatalf("patch %s %s: %v", kind.Kind, name, err)
	}
	return u
}

func (w *world) delete(kind schema.GroupVersionKind, name string) {
	w.Helper()
	background := metav1.DeletePropagationBackground
	if err := w.resource(kind).Delete(w.Context(), name, metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
		w.Fatalf("delete %s %s: %v", kind.Kind, name, err)
	}
}

// An instance is a running engine.
type instance struct {
	*engine.Engine
	stop func()
	log  *lockedBuffer
}

// run starts an engine on rules in which NAMESPACE stands for the world's.
func (w *world) run(source string) *instance {
	w.Helper()
	return w.runWith(engine.Options{}, source)
}

// runWith is run with options of the test's own.
func (w *world) runWith(options engine.Options, source string) *instance {
	w.Helper()
	in := w.startWith(options, source)
	w.eventually("the engine to be ready", in.Ready)
	return in
}

// startWith is runWith for an engine that may not be ready for a while.
func (w *world) startWith(options engine.Options, source string) *instance {
	w.Helper()
	program, err := rules.Load([]syntax.Source{{Name: "rules.yaml", Data: []byte(w.own(source))}})
	if err != nil {
		w.Fatal(err)
	}
	log := &lockedBuffer{}
	config := options.Config
	if config == nil {
		config = w.cluster.UserConfig(w.T, "reconcel")
	}
	config.QPS = -1
	if w.wrap != nil {
		config.Wrap(w.wrap)
	}
	options.Config, options.Namespace = config, w.namespace
	if options.RemovalGrace == 0 {
		options.RemovalGrace = time.Second
	}
	options.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	e, err := engine.New(options, program)
	if err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	in := &instance{Engine: e, log: log, stop: sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				w.Errorf("engine: %v", err)
			}
		case <-time.After(20 * time.Second):
			w.Error("the engine did not stop within 20 s")
		}
	})}
	w.Cleanup(func() {
		in.stop()
		if w.Failed() {
			w.Logf("log of the engine:\n%s", log)
		}
		if strings.Contains(log.String(), "level=ERROR") {
			w.Errorf("the engine logged an error:\n%s", log)
		}
	})
	return in
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// writes returns what the engine wrote to the world since an instant.
func (w *world) writes(since time.Time) []devcluster.Request {
	w.Helper()
	w.flushAudit()
	found, err := w.cluster.Requests(func(r devcluster.Request) bool {
		return r.User == "reconcel" && r.IsWrite() && r.Resource != "leases" && r.Namespace == w.namespace && !r.Received.Before(since)
	})
	if err != nil {
		w.Fatal(err)
	}
	return found
}

// flushAudit makes a request and waits until the log has it, and so has
// everything that was answered before.
func (w *world) flushAudit() {
	w.Helper()
	marker := fmt.Sprintf("marker-%d", time.Now().UnixNano())
	w.get(configs, marker)
	w.eventually("the audit log to have request "+marker, func() error {
		found, err := w.cluster.Requests(func(r devcluster.Request) bool { return r.Name == marker })
		if err == nil && len(found) == 0 {
			err = errors.New("not there yet")
		}
		return err
	})
}

// quiet checks that the engine writes nothing for a while. Events do not count:
// they are sent beside the work, and may tell late of what was done before.
func (w *world) quiet(d time.Duration) {
	w.Helper()
	w.noWrites(d, func(r devcluster.Request) bool { return r.Resource != "events" })
}

// silent checks that the engine sends not even an Event for a while.
func (w *world) silent(d time.Duration) {
	w.Helper()
	w.noWrites(d, func(devcluster.Request) bool { return true })
}

func (w *world) noWrites(d time.Duration, counts func(devcluster.Request) bool) {
	w.Helper()
	since := time.Now()
	w.rest(d)
	found := slices.DeleteFunc(w.writes(since), func(r devcluster.Request) bool { return !counts(r) })
	if len(found) > 0 {
		w.Errorf("%d writes in %s of rest: %v", len(found), d, devcluster.Tally(found))
	}
}

// events returns the reasons of the Events about an object.
func (w *world) events(kind, name string) (reasons []string) {
	w.Helper()
	for _, event := range w.eventsOf(kind, name) {
		reason, _, _ := unstructured.NestedString(event, "reason")
		reasons = append(reasons, reason)
	}
	return reasons
}

// noted reports whether an Event about an object has a text, of which a condition
// may only have the beginning.
func (w *world) noted(kind, name, text string) bool {
	w.Helper()
	return slices.ContainsFunc(w.eventsOf(kind, name), func(event map[string]any) bool {
		note, _, _ := unstructured.NestedString(event, "note")
		return strings.Contains(note, text)
	})
}

func (w *world) eventsOf(kind, name string) (found []map[string]any) {
	w.Helper()
	list, err := w.client.Resource(schema.GroupVersionResource{Group: "events.k8s.io", Version: "v1", Resource: "events"}).
		Namespace(w.namespace).List(w.Context(), metav1.ListOptions{})
	if err != nil {
		w.Fatal(err)
	}
	for i := range list.Items {
		about, _, _ := unstructured.NestedStringMap(list.Items[i].Object, "regarding")
		if about["kind"] == kind && about["name"] == name {
			found = append(found, list.Items[i].Object)
		}
	}
	return found
}
