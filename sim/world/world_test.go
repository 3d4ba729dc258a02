package world_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"reconcel/rules"
	"reconcel/rules/schema"
	"reconcel/rules/source"
	"reconcel/sim"
	"reconcel/sim/world"
	"reconcel/test/race"
)

var (
	deleteOptions  = metav1.DeleteOptions{}
	fooKind        = runtimeschema.GroupKind{Group: "samplecontroller.k8s.io", Kind: "Foo"}
	deploymentKind = runtimeschema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
)

// exampleKinds are Kubernetes' own kinds and those of all examples.
func exampleKinds(tb testing.TB) *sim.Kinds {
	tb.Helper()
	files, err := filepath.Glob("../../crds/*.yaml")
	if err != nil || len(files) == 0 {
		tb.Fatalf("no CRDs: %v", err)
	}
	var crds []map[string]any
	for _, f := range files {
		crds = append(crds, objects(tb, f)...)
	}
	set, err := schema.New(schema.Sources{CRDs: crds})
	if err != nil {
		tb.Fatal(err)
	}
	kinds, err := sim.NewKinds(set)
	if err != nil {
		tb.Fatal(err)
	}
	return kinds
}

func objects(tb testing.TB, file string) (all []map[string]any) {
	tb.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	for document := range strings.SplitSeq(string(data), "\n---") {
		var o map[string]any
		if err := yaml.Unmarshal([]byte(document), &o); err != nil {
			tb.Fatalf("%s: %v", file, err)
		}
		if o != nil {
			all = append(all, o)
		}
	}
	return all
}

// fooWorld has the rules of examples/foo and one Foo.
func fooWorld(t *testing.T) *world.World {
	t.Helper()
	file := "../../examples/foo/rules.yaml"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	program, err := rules.Load([]source.File{{Name: file, Data: data}})
	if err != nil {
		t.Fatal(err)
	}
	w, err := world.New(world.Options{Program: program, Kinds: exampleKinds(t)})
	if err != nil {
		t.Fatal(err)
	}
	foo := &unstructured.Unstructured{Object: objects(t, "../../examples/foo/foo.yaml")[0]}
	foo.SetNamespace("default")
	if _, err := w.Cluster().Put(foo); err != nil {
		t.Fatal(err)
	}
	settle(t, w)
	return w
}

func settle(t *testing.T, w *world.World) {
	t.Helper()
	if err := w.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func condition(o *unstructured.Unstructured, kind string) string {
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range list {
		if c := c.(map[string]any); c["type"] == kind {
			return c["status"].(string) + " " + c["reason"].(string)
		}
	}
	return ""
}

func TestFooLives(t *testing.T) {
	w := fooWorld(t)
	c := w.Cluster()
	ready := func() string { return condition(c.Find(fooKind, "default", "example-foo"), "Ready") }
	if got := ready(); got != "False Progressing" {
		t.Errorf("a new Foo has Ready %q", got)
	}
	if err := c.MarkReady(deploymentKind, "default", "example-foo"); err != nil {
		t.Fatal(err)
	}
	settle(t, w)
	if got := ready(); got != "True Reconciled" {
		t.Errorf("a Foo whose Deployment is ready has Ready %q", got)
	}
	before := len(w.Writes())
	if err := w.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.Advance(t.Context(), 24*time.Hour); err != nil {
		t.Fatal(err)
	}
	for _, write := range w.Writes()[before:] {
		t.Errorf("written though nothing has changed: %+v", write)
	}
}

func TestGarbageIsCollected(t *testing.T) {
	w := fooWorld(t)
	client := w.Cluster().Client("someone")
	gvr := fooKind.WithVersion("v1alpha1").GroupVersion().WithResource("foos")
	if err := client.Resource(gvr).Namespace("default").Delete(t.Context(), "example-foo", deleteOptions); err != nil {
		t.Fatal(err)
	}
	settle(t, w)
	for _, o := range w.Objects() {
		t.Errorf("%s %s is left", o.GetKind(), o.GetName())
	}
}

// load returns a world with these rules.
func load(t *testing.T, text string) *world.World {
	t.Helper()
	return loadWith(t, text, world.Options{})
}

func loadWith(t *testing.T, text string, options world.Options) *world.World {
	t.Helper()
	program, err := rules.Load([]source.File{{Name: "rules.yaml", Data: []byte(text)}})
	if err != nil {
		t.Fatal(err)
	}
	options.Program, options.Kinds = program, exampleKinds(t)
	w, err := world.New(options)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func put(t *testing.T, w *world.World, file string) {
	t.Helper()
	for _, o := range objects(t, file) {
		u := &unstructured.Unstructured{Object: o}
		u.SetNamespace("default")
		if _, err := w.Cluster().Put(u); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFailuresAreTriedAgain(t *testing.T) {
	w := fooWorld(t)
	c := w.Cluster()
	client := c.Client("someone").Resource(deploymentKind.GroupVersion().WithResource("deployments")).Namespace("default")
	c.Fail(sim.Failure{By: world.Controller, Verb: "apply", Times: 3})
	if err := client.Delete(t.Context(), "example-foo", deleteOptions); err != nil {
		t.Fatal(err)
	}
	settle(t, w)
	if left := c.Pending(); len(left) > 0 {
		t.Errorf("%d failures have not happened", left[0].Times)
	}
	if c.Find(deploymentKind.GroupKind(), "default", "example-foo") == nil {
		t.Error("the Deployment was not made again")
	}
	if passed := w.Now().Sub(time.Date(2030, time.January, 1, 0, 0, 0, 0, time.UTC)); passed > 4*time.Second {
		t.Errorf("%s have passed", passed)
	}
}

func TestRestlessRulesAreFound(t *testing.T) {
	w := load(t, `
apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: counter
  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo}
  status:
    availableReplicas: ${self.?status.?availableReplicas.orValue(0) + 1}
`)
	put(t, w, "../../examples/foo/foo.yaml")
	err := w.Settle(t.Context())
	if err == nil || !strings.Contains(err.Error(), "Foo/default/example-foo (status) was written") {
		t.Errorf("a status that counts its own writes ends with error %v", err)
	}
}

// TestTooMuchTimePasses has converged rules that only reconcile too often.
func TestTooMuchTimePasses(t *testing.T) {
	race.Skip(t)
	w := load(t, `
apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: clock
  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo}
  requeueAfter: 1s
  status: {availableReplicas: 1}
`)
	put(t, w, "../../examples/foo/foo.yaml")
	err := w.Advance(t.Context(), 1_000_000*time.Hour)
	if want := "reconciliations within 27h46m"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("expected %q in error %v", want, err)
	}
}

func TestTheSameEachTime(t *testing.T) {
	play := func() string {
		data, err := os.ReadFile("../../examples/podset/rules.yaml")
		if err != nil {
			t.Fatal(err)
		}
		w := load(t, string(data))
		put(t, w, "../../examples/podset/podset.yaml")
		settle(t, w)
		var all strings.Builder
		for _, write := range w.Writes() {
			fmt.Fprintln(&all, write)
		}
		for _, o := range w.Objects() {
			fmt.Fprintln(&all, o)
		}
		return all.String()
	}
	first := play()
	for range 5 {
		if again := play(); again != first {
			t.Fatalf("played again it is not the same:\n%s\n%s", first, again)
		}
	}
}
