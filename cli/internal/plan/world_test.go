package plan

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/yaml"

	"reconcel/cli/internal/change"
	"reconcel/cli/internal/cluster"
	"reconcel/cli/internal/output"
	"reconcel/rules"
	"reconcel/rules/schema"
	"reconcel/rules/source"
	"reconcel/sim"
	"reconcel/sim/world"
)

const examples = "../../../examples"

// A fleet is a cluster in memory with primaries of several examples.
type fleet struct {
	*testing.T
	*world.World
	schemas *schema.Set
	kinds   *sim.Kinds
	seen    int // changes
}

func readText(tb testing.TB, path string) string {
	tb.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return string(data)
}

// exampleSchemas are the kinds of all examples.
func exampleSchemas(tb testing.TB) *schema.Set {
	tb.Helper()
	files, err := filepath.Glob(examples + "/../crds/*.yaml")
	if err != nil {
		tb.Fatal(err)
	}
	var crds []map[string]any
	for _, file := range files {
		for document := range strings.SplitSeq(readText(tb, file), "\n---") {
			var crd map[string]any
			if err := yaml.Unmarshal([]byte(document), &crd); err != nil {
				tb.Fatal(err)
			}
			crds = append(crds, crd)
		}
	}
	set, err := schema.New(schema.Sources{CRDs: crds})
	if err != nil {
		tb.Fatal(err)
	}
	return set
}

// loadTexts compiles rules files by name.
func loadTexts(tb testing.TB, texts map[string]string) *rules.Loaded {
	tb.Helper()
	var sources []source.File
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		sources = append(sources, source.File{Name: name, Data: []byte(texts[name])})
	}
	loaded := rules.Compile(sources)
	if err := loaded.Errors.Err(); err != nil {
		tb.Fatal(err)
	}
	return loaded
}

// newFleet settles a cluster with these rules and objects, in which all workloads are ready.
func newFleet(t *testing.T, program *rules.Program, objects ...string) *fleet {
	t.Helper()
	return newFleetWith(t, world.Options{Program: program, MaxDeletions: new(intstr.FromString("100%"))}, objects...)
}

func newFleetWith(t *testing.T, o world.Options, objects ...string) *fleet {
	t.Helper()
	schemas := exampleSchemas(t)
	kinds, err := sim.NewKinds(schemas)
	if err != nil {
		t.Fatal(err)
	}
	o.Kinds = kinds
	w, err := world.New(o)
	if err != nil {
		t.Fatal(err)
	}
	f := &fleet{T: t, World: w, schemas: schemas, kinds: kinds}
	f.put(objects...)
	f.settle()
	return f
}

// put creates objects, as a user.
func (f *fleet) put(objects ...string) {
	f.Helper()
	for _, text := range objects {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
			f.Fatal(err)
		}
		if _, err := f.Cluster().Put(u); err != nil {
			f.Fatal(err)
		}
	}
}

// settle lets everything become ready.
func (f *fleet) settle() {
	f.Helper()
	for f.seen < f.Cluster().ChangeCount() {
		if err := f.Settle(f.Context()); err != nil {
			f.Fatal(err)
		}
		changed := f.Cluster().Changes(f.seen)
		f.seen = f.Cluster().ChangeCount()
		for _, c := range changed {
			f.ready(c.New)
		}
	}
}

// ready makes a child ready, as Kubernetes' controllers would.
func (f *fleet) ready(u *unstructured.Unstructured) {
	f.Helper()
	if u == nil || u.GetLabels()[rules.LabelRule] == "" {
		return
	}
	k := f.kinds.Kind(u.GroupVersionKind())
	live := f.Cluster().Find(k.GVK.GroupKind(), u.GetNamespace(), u.GetName())
	if live == nil || live.GetDeletionTimestamp() != nil || live.GetGeneration() != u.GetGeneration() || !k.Status || !schema.BuiltInGroup(k.GVK.Group) {
		return
	}
	if err := f.Cluster().MarkReady(k.GVK, u.GetNamespace(), u.GetName()); err != nil {
		f.Fatal(err)
	}
}

// deleteChildren deletes the objects of a rule, as a user.
func (f *fleet) deleteChildren(rule string) {
	f.Helper()
	for _, u := range f.Objects() {
		if u.GetLabels()[rules.LabelRule] != rule {
			continue
		}
		k := f.kinds.Kind(u.GroupVersionKind())
		client := f.Cluster().Client("user").Resource(k.GVK.GroupVersion().WithResource(k.Resource)).Namespace(u.GetNamespace())
		if err := client.Delete(f.Context(), u.GetName(), metav1.DeleteOptions{}); err != nil {
			f.Fatal(err)
		}
	}
}

// options compare the fleet with other rules.
func (f *fleet) options(loaded *rules.Loaded) Options {
	return Options{
		Source: change.Source{
			Rules: loaded, Schemas: f.schemas, Progress: output.StartProgress(&strings.Builder{}),
			Cluster: &cluster.Cluster{Client: f.Cluster().Client("reviewer"), Kinds: world.KindsOf(f.kinds)},
		},
		Clock: testclock.NewFakePassiveClock(f.Now()),
	}
}

func (f *fleet) plan(o Options) *Report {
	f.Helper()
	before := f.Cluster().ChangeCount()
	r, err := Compare(f.Context(), o)
	if err != nil {
		f.Fatal(err)
	}
	if n := f.Cluster().ChangeCount() - before; n > 0 {
		f.Errorf("plan made %d changes", n)
	}
	return r
}
