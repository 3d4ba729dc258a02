package diff

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/dynamic"
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

// A running is a cluster in memory in which the installation kube-system/reconcel runs rules.
type running struct {
	*testing.T
	*world.World
	kinds *sim.Kinds
	may   func(namespace string) bool // the user may list objects; nil: everywhere
}

const header = "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n"

func loaded(t *testing.T, text string) *rules.Loaded {
	t.Helper()
	l := rules.Compile([]source.File{{Name: "rules.yaml", Data: []byte(header + text)}})
	if err := l.Errors.Err(); err != nil {
		t.Fatal(err)
	}
	return l
}

// newRunning settles a cluster with these rules and objects.
func newRunning(t *testing.T, text string, objects ...string) *running {
	t.Helper()
	kinds, err := sim.NewKinds(schema.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	w, err := world.New(world.Options{Program: loaded(t, text).Program, Kinds: kinds, MaxDeletions: new(intstr.FromString("100%"))})
	if err != nil {
		t.Fatal(err)
	}
	r := &running{T: t, World: w, kinds: kinds}
	r.put(objects...)
	if err := w.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *running) put(objects ...string) {
	r.Helper()
	for _, text := range objects {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
			r.Fatal(err)
		}
		if _, err := r.Cluster().Put(u); err != nil {
			r.Fatal(err)
		}
	}
}

// diff compares other rules with the cluster, and checks which objects change.
func (r *running) diff(text string, o Options, want ...string) *Result {
	r.Helper()
	o.Source = change.Source{
		Rules: loaded(r.T, text), Schemas: schema.Builtin(), Progress: output.StartProgress(&strings.Builder{}),
		Cluster: &cluster.Cluster{Client: limited{r.Cluster().Client("user"), r.may}, Kinds: world.KindsOf(r.kinds)},
	}
	if o.Selector == nil {
		o.Selector = labels.Everything()
	}
	result, err := Compare(r.Context(), o)
	if err != nil {
		r.Fatal(err)
	}
	var got []string
	for _, c := range result.Changes {
		if c.Action.IsDifference() || c.Action.IsTrouble() {
			got = append(got, string(c.Action)+" "+c.Object.String())
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		r.Errorf("changes (-want +got):\n%s\nnotes: %s", diff, strings.Join(result.Notes, "\n"))
	}
	return result
}

// notes checks that a result has a note with a text.
func (r *running) notes(result *Result, text string) {
	r.Helper()
	if !slices.ContainsFunc(result.Notes, func(note string) bool { return strings.Contains(note, text) }) {
		r.Errorf("no note has %q:\n%s", text, strings.Join(result.Notes, "\n"))
	}
}

// limited is a cluster in which a user may list objects of some namespaces.
type limited struct {
	dynamic.Interface
	may func(namespace string) bool
}

// Resource implements dynamic.Interface.
func (l limited) Resource(gvr runtimeschema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	r := l.Interface.Resource(gvr)
	return limitedResource{r, r, l.may, gvr, ""}
}

type limitedResource struct {
	dynamic.NamespaceableResourceInterface

	in        dynamic.ResourceInterface
	may       func(namespace string) bool
	gvr       runtimeschema.GroupVersionResource
	namespace string
}

// Namespace implements dynamic.NamespaceableResourceInterface.
func (l limitedResource) Namespace(namespace string) dynamic.ResourceInterface {
	l.in, l.namespace = l.NamespaceableResourceInterface.Namespace(namespace), namespace
	return l
}

// Get implements dynamic.ResourceInterface.
func (l limitedResource) Get(ctx context.Context, name string, o metav1.GetOptions, sub ...string) (*unstructured.Unstructured, error) {
	return l.in.Get(ctx, name, o, sub...)
}

// Patch implements dynamic.ResourceInterface.
func (l limitedResource) Patch(ctx context.Context, name string, kind types.PatchType, data []byte, o metav1.PatchOptions, sub ...string) (*unstructured.Unstructured, error) {
	return l.in.Patch(ctx, name, kind, data, o, sub...)
}

// Delete implements dynamic.ResourceInterface.
func (l limitedResource) Delete(ctx context.Context, name string, o metav1.DeleteOptions, sub ...string) error {
	return l.in.Delete(ctx, name, o, sub...)
}

// List implements dynamic.ResourceInterface.
func (l limitedResource) List(ctx context.Context, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	if l.may != nil && !l.may(l.namespace) {
		return nil, apierrors.NewForbidden(l.gvr.GroupResource(), "", fmt.Errorf("user cannot list in namespace %q", l.namespace))
	}
	return l.in.List(ctx, o)
}
