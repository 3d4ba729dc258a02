//go:build integration

package examples

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"reconcel/internal/devcluster"
)

const (
	ruleLabel  = "reconcel.dev/rule"
	childLabel = "reconcel.dev/child"
	// namespacePrefix begins the names of the tests' namespaces.
	namespacePrefix = "example"
	// deadline is for what takes a second or two if it works, and half a minute if
	// the garbage collector has just met a new kind.
	deadline = 2 * time.Minute
)

// A world is what a test has of the cluster: a namespace at a time, in which one
// example lives, and in which the test acts as everybody else.
type world struct {
	*testing.T
	example
	binary string
	files  []string // of rules
	read   []rule   // what they say
	names  []string

	cluster *devcluster.Cluster
	client  dynamic.Interface
	mapper  *restmapper.DeferredDiscoveryRESTMapper

	namespaced  bool // only its namespace and the one beside it are followed
	namespace   string
	beside      string
	withheld    access                       // from the accounts that are made
	account     *account                     // as which the process runs in it
	actAs       string                       // what its rules say of that, if anything: serviceAccountName
	deputy      *account                     // as which it writes then
	primaries   []*unstructured.Unstructured // as they were created in it
	strays      []*unstructured.Unstructured // that do not go with the namespace
	environment []string                     // of processes, besides the test's own
	processes   []*process                   // all that were started
	process     *process                     // the one that should be running
	births      *births                      // in the present run, if it is one with kills
}

func newWorld(t *testing.T, e example, binary string, cluster *devcluster.Cluster) *world {
	t.Helper()
	config := cluster.Config()
	config.WarningHandler = rest.NoWarnings{} // That a version is old is known.
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, example: e, binary: binary, cluster: cluster, client: client,
		mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(d))}
	if len(w.rules) == 0 {
		w.rules = []string{"rules.yaml"}
	}
	for _, file := range w.rules {
		w.files = append(w.files, w.path(file))
	}
	if w.read, err = readRules(w.files); err != nil {
		t.Fatal(err)
	}
	for _, r := range w.read {
		w.names = append(w.names, r.Name)
	}
	t.Cleanup(func() {
		for _, p := range w.processes {
			_ = p.cmd.Process.Kill() // Most have ended long ago.
			<-p.exited
		}
		if t.Failed() && len(w.processes) > 0 {
			t.Logf("log of the last process:\n%s", w.processes[len(w.processes)-1].log)
		}
		w.leave()
	})
	return w
}

// path finds a file of the example: in its folder, or from the root of the
// repository.
func (w *world) path(file string) string {
	w.Helper()
	path := filepath.Join(w.name, file)
	if _, err := os.Stat(path); err != nil {
		path = filepath.Join("..", file)
	}
	return path
}

// enter goes to a new namespace, in which there is what must be there before,
// and an account that may do what the rules need.
func (w *world) enter() {
	w.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"generateName": namespacePrefix + "-"},
	}}
	created, err := w.resource(u.GroupVersionKind(), "").Create(w.Context(), u, metav1.CreateOptions{})
	if err != nil {
		w.Fatal(err)
	}
	w.namespace, w.primaries, w.strays = created.GetName(), nil, nil
	for _, file := range w.setup {
		for _, u := range w.manifest(file) {
			w.create(u)
		}
	}
	w.appointDeputy()
	if w.namespaced {
		w.makeNeighbour()
	}
	w.account = w.newAccount()
}

// leave drops the namespace and what else the test has made. It does not wait.
func (w *world) leave() {
	w.Helper()
	if w.namespace == "" {
		return
	}
	namespaces := w.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
	if err := namespaces.Delete(context.Background(), w.namespace, metav1.DeleteOptions{}); err != nil {
		w.Errorf("clean up: %v", err)
	}
	for _, u := range w.strays {
		err := w.of(u).Delete(context.Background(), u.GetName(), metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) { // Conflict: it is going.
			w.Errorf("clean up: %v", err)
		}
	}
	w.namespace = ""
}

// at returns the name that something of the example has in this test: names
// that are not in the test's namespace end as it does.
func (w *world) at(name string) string {
	if !slices.Contains(w.global, name) {
		return name
	}
	return name + strings.TrimPrefix(w.namespace, namespacePrefix)
}

// createResources creates the primaries.
func (w *world) createResources() {
	w.Helper()
	for _, file := range w.resources {
		for _, u := range w.manifest(file) {
			created := w.create(u)
			if w.isPrimary(created.GroupVersionKind()) {
				w.primaries = append(w.primaries, created)
			}
		}
	}
	if len(w.primaries) == 0 {
		w.Fatalf("no rule is for anything in %v", w.resources)
	}
}

// manifest reads a file, in which global names are the test's own.
func (w *world) manifest(file string) (objects []*unstructured.Unstructured) {
	w.Helper()
	data, err := os.ReadFile(w.path(file))
	if err != nil {
		w.Fatal(err)
	}
	return w.parse(string(data))
}

func (w *world) parse(manifest string) (objects []*unstructured.Unstructured) {
	w.Helper()
	for _, name := range w.global {
		whole := regexp.MustCompile(`(?m): ` + regexp.QuoteMeta(name) + `$`)
		manifest = whole.ReplaceAllString(manifest, ": "+w.at(name))
	}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader([]byte(manifest)), 4096)
	for {
		u := &unstructured.Unstructured{}
		err := decoder.Decode(&u.Object)
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			w.Fatalf("%v in\n%s", err, manifest)
		}
		if len(u.Object) > 0 {
			objects = append(objects, u)
		}
	}
}

// eventually waits until nothing is missing, and fails with what is.
func (w *world) eventually(what string, missing func() error) {
	w.Helper()
	timeout := time.After(deadline)
	tick := time.NewTicker(30 * time.Millisecond)
	defer tick.Stop()
	for {
		w.endsIfRefused()
		err := missing()
		if err == nil {
			return
		}
		if w.process != nil {
			w.process.alive()
		}
		select {
		case <-timeout:
			w.Fatalf("waited %s for %s: %v", deadline, what, err)
		case <-tick.C:
		}
	}
}
