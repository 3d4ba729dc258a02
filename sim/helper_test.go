package sim_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	testclock "k8s.io/utils/clock/testing"

	"reconcel/rules/schema"
	"reconcel/sim"
)

// kinds are those of Kubernetes and of testdata/widgets.yaml.
var kinds = sync.OnceValue(func() *sim.Kinds {
	crds, err := widgetCRDs()
	if err != nil {
		panic(err)
	}
	var from schema.Sources
	for _, crd := range crds {
		from.CRDs = append(from.CRDs, crd.Object)
	}
	set, err := schema.New(from)
	if err != nil {
		panic(err)
	}
	ks, err := sim.NewKinds(set, &schema.Kind{
		GVK: runtimeschema.GroupVersionKind{Group: "other.example.com", Version: "v1", Kind: "Mystery"}, Resource: "mysteries", Namespaced: true, Custom: true,
	})
	if err != nil {
		panic(err)
	}
	return ks
})

func widgetCRDs() ([]*unstructured.Unstructured, error) {
	data, err := os.ReadFile("testdata/widgets.yaml")
	if err != nil {
		return nil, err
	}
	return parseAll(string(data))
}

func parseAll(text string) (all []*unstructured.Unstructured, err error) {
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	for {
		u := &unstructured.Unstructured{}
		var raw json.RawMessage
		if err := decoder.Decode(&raw); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("%w in\n%s", err, text)
		}
		if err := u.UnmarshalJSON(raw); err != nil {
			return nil, fmt.Errorf("%w in\n%s", err, text)
		}
		all = append(all, u)
	}
}

// world is a cluster with shorthand methods for tests.
type world struct {
	*testing.T
	*sim.Cluster
	clock  *testclock.FakeClock
	client dynamic.Interface
}

func newWorld(t *testing.T) *world {
	t.Helper()
	clock := testclock.NewFakeClock(time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC))
	cluster, err := sim.New(sim.Options{Kinds: kinds(), Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	return &world{T: t, Cluster: cluster, clock: clock, client: cluster.Client("tester")}
}

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	all, err := parseAll(text)
	if err != nil || len(all) != 1 {
		t.Fatalf("%v in\n%s", err, text)
	}
	return all[0]
}

// of returns the client for a kind, in the namespace default if the kind is namespaced.
func (w *world) of(gvk runtimeschema.GroupVersionKind) dynamic.ResourceInterface {
	w.Helper()
	k := kinds().Kind(gvk)
	if k == nil {
		w.Fatalf("no kind %s", gvk)
	}
	r := w.client.Resource(gvk.GroupVersion().WithResource(k.Resource))
	if k.Namespaced {
		return r.Namespace("default")
	}
	return r
}

func (w *world) put(text string) *unstructured.Unstructured {
	w.Helper()
	u := parse(w.T, text)
	if k := kinds().Kind(u.GroupVersionKind()); k != nil && k.Namespaced && u.GetNamespace() == "" {
		u.SetNamespace("default")
	}
	out, err := w.Put(u)
	if err != nil {
		w.Fatal(err)
	}
	return out
}

func (w *world) tryApply(manager, text string) (*unstructured.Unstructured, error) {
	w.Helper()
	u := parse(w.T, text)
	return w.of(u.GroupVersionKind()).Apply(w.Context(), u.GetName(), u, metav1.ApplyOptions{FieldManager: manager})
}

func (w *world) apply(manager, text string) *unstructured.Unstructured {
	w.Helper()
	out, err := w.tryApply(manager, text)
	if err != nil {
		w.Fatal(err)
	}
	return out
}

func (w *world) merge(gvk runtimeschema.GroupVersionKind, name, body string, subresources ...string) *unstructured.Unstructured {
	w.Helper()
	out, err := w.of(gvk).Patch(w.Context(), name, types.MergePatchType, []byte(body), metav1.PatchOptions{}, subresources...)
	if err != nil {
		w.Fatal(err)
	}
	return out
}

func (w *world) there(gvk runtimeschema.GroupVersionKind, name string) bool {
	w.Helper()
	namespace := ""
	if kinds().Kind(gvk).Namespaced {
		namespace = "default"
	}
	return w.Find(gvk.GroupKind(), namespace, name) != nil
}

func field(u *unstructured.Unstructured, path ...string) any {
	v, _, _ := unstructured.NestedFieldNoCopy(u.Object, path...)
	return v
}

// owned returns a manager's fieldsV1 as JSON.
func owned(u *unstructured.Unstructured, manager string) string {
	for _, e := range u.GetManagedFields() {
		if e.Manager == manager {
			return e.FieldsV1.GetRawString()
		}
	}
	return ""
}

var (
	configMap  = runtimeschema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	namespace  = runtimeschema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
	service    = runtimeschema.GroupVersionKind{Version: "v1", Kind: "Service"}
	pod        = runtimeschema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	deployment = runtimeschema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	gauge      = runtimeschema.GroupVersionKind{Group: "sim.reconcel.dev", Version: "v1", Kind: "Gauge"}
	widget     = runtimeschema.GroupVersionKind{Group: "sim.reconcel.dev", Version: "v1", Kind: "Widget"}
)
