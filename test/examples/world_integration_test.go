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

	"reconcel/test/devcluster"
	"reconcel/test/e2e"
)

const (
	ruleLabel  = "reconcel.dev/rule"
	childLabel = "reconcel.dev/child"
	// namespacePrefix is the prefix of the names of the tests' namespaces.
	namespacePrefix = "example"
)

// world is a test's part of the cluster. It has one namespace at a time for one example,
// in which the test acts as all other clients.
type world struct {
	*e2e.World
	example
	binary string
	files  []string // rules files
	read   []rule   // the parsed rules
	names  []string

	namespaced  bool // the process watches only its namespace and the one beside it
	beside      string
	withheld    access                       // from the accounts that the test creates
	account     *account                     // of the process
	actAs       string                       // the serviceAccountName of its rules, if any
	deputy      *account                     // the account that the rules impersonate
	primaries   []*unstructured.Unstructured // as the test created them
	strays      []*unstructured.Unstructured // cluster-scoped objects and others that outlive the namespace
	environment []string                     // of processes, besides the test's own
	process     *process                     // the one that should be running
	births      *births                      // of the current run, if it has kills
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

// path returns the path of an example's file: in its folder, or relative to the root of
// the repository.
func (w *world) path(file string) string {
	w.Helper()
	path := filepath.Join("../../examples", w.name, file)
	if _, err := os.Stat(path); err != nil {
		path = filepath.Join("../..", file)
	}
	return path
}

// enter creates a new namespace with the objects that must exist before, and with an
// account that has the permissions for the rules.
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

// leave deletes the namespace and the test's other objects without waiting.
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
		w.remove(u)
	}
	w.Namespace = ""
}

// remove deletes an object that may be gone or in deletion already, also after the test.
func (w *world) remove(u *unstructured.Unstructured) {
	w.Helper()
	err := w.of(u).Delete(context.Background(), u.GetName(), metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) { // Conflict: the object is already in deletion.
		w.Errorf("clean up: %v", err)
	}
}

// at returns the name of an example's object in this test. Names outside the test's
// namespace get its suffix.
func (w *world) at(name string) string {
	if !slices.Contains(w.global, name) {
		return name
	}
	return name + strings.TrimPrefix(w.Namespace, namespacePrefix)
}

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

// manifest parses a file. Global names become unique to the test.
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

// eventually waits until nothing is missing, and otherwise fails with the missing parts.
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
