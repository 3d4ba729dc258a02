//go:build integration

package examples

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/internal/devcluster"
	"reconcel/internal/e2e"
)

const (
	ruleLabel  = "reconcel.dev/rule"
	childLabel = "reconcel.dev/child"
	// namespacePrefix begins the names of the tests' namespaces.
	namespacePrefix = "example"
)

// A world is what a test has of the cluster: a namespace at a time, in which one
// example lives, and in which the test acts as everybody else.
type world struct {
	*e2e.World
	example
	binary string
	files  []string // of rules
	read   []rule   // what they say
	names  []string

	namespaced  bool // only its namespace and the one beside it are followed
	beside      string
	withheld    access                       // from the accounts that are made
	account     *account                     // as which the process runs in it
	actAs       string                       // what its rules say of that, if anything: serviceAccountName
	deputy      *account                     // as which it writes then
	primaries   []*unstructured.Unstructured // as they were created in it
	strays      []*unstructured.Unstructured // that do not go with the namespace
	environment []string                     // of processes, besides the test's own
	process     *process                     // the one that should be running
	births      *births                      // in the present run, if it is one with kills
}

func newWorld(t *testing.T, e example, binary string, cluster *devcluster.Cluster) *world {
	t.Helper()
	w := &world{World: e2e.In(t, cluster, ""), example: e, binary: binary}
	if len(w.rules) == 0 {
		w.rules = []string{"rules.yaml"}
	}
	for _, file := range w.rules {
		w.files = append(w.files, w.path(file))
	}
	var err error
	if w.read, err = readRules(w.files); err != nil {
		t.Fatal(err)
	}
	for _, r := range w.read {
		w.names = append(w.names, r.Name)
	}
	t.Cleanup(w.leave)
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
	created, err := w.Resource(u.GroupVersionKind()).Create(w.Context(), u, metav1.CreateOptions{})
	if err != nil {
		w.Fatal(err)
	}
	w.Namespace, w.primaries, w.strays = created.GetName(), nil, nil
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
	if w.Namespace == "" {
		return
	}
	namespaces := w.Client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
	if err := namespaces.Delete(context.Background(), w.Namespace, metav1.DeleteOptions{}); err != nil {
		w.Errorf("clean up: %v", err)
	}
	for _, u := range w.strays {
		err := w.of(u).Delete(context.Background(), u.GetName(), metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) { // Conflict: it is going.
			w.Errorf("clean up: %v", err)
		}
	}
	w.Namespace = ""
}

// at returns the name that something of the example has in this test: names
// that are not in the test's namespace end as it does.
func (w *world) at(name string) string {
	if !slices.Contains(w.global, name) {
		return name
	}
	return name + strings.TrimPrefix(w.Namespace, namespacePrefix)
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
	return e2e.Parse(w.T, manifest)
}

// eventually waits until nothing is missing, and fails with what is.
func (w *world) eventually(what string, missing func() error) {
	w.Helper()
	w.Eventually(what, func() error {
		w.endsIfRefused()
		err := missing()
		if err != nil && w.process != nil {
			w.process.alive()
		}
		return err
	})
}
