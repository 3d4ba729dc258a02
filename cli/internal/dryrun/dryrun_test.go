package dryrun_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"reconcel/cli/internal/dryrun"
	"reconcel/rules/schema"
	"reconcel/sim"
)

var (
	configMaps = runtimeschema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	pods       = runtimeschema.GroupVersionResource{Version: "v1", Resource: "pods"}
)

// A world is a cluster in memory, seen through dry runs.
type world struct {
	*testing.T
	real     *sim.Cluster
	recorder *dryrun.Recorder
	ctx      context.Context
}

func newWorld(t *testing.T) (*world, *sim.Kinds) {
	t.Helper()
	kinds, err := sim.NewKinds(schema.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := sim.New(sim.Options{Kinds: kinds})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, real: cluster}
	w.ctx, w.recorder = dryrun.Record(t.Context())
	return w, kinds
}

// apply applies by force, as the engine does.
func (w *world) apply(client dynamic.Interface, gvr runtimeschema.GroupVersionResource, body string) (*unstructured.Unstructured, error) {
	force := true
	return client.Resource(gvr).Namespace("default").Patch(w.ctx, "x", types.ApplyPatchType, []byte(body), metav1.PatchOptions{FieldManager: "reconcel", Force: &force})
}

const settings = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"a":"1"}}`

// TestNothingIsWritten has every verb that the engine uses answered.
func TestNothingIsWritten(t *testing.T) {
	for name, open := range map[string]func(dynamic.Interface, func() (*sim.Kinds, error)) *dryrun.Client{"by dry runs": dryrun.New, "locally": dryrun.NewLocal} {
		t.Run(name, func(t *testing.T) {
			w, kinds := newWorld(t)
			if _, err := w.apply(w.real.Client("reconcel"), configMaps, settings); err != nil {
				t.Fatal(err)
			}
			before := len(w.real.Writes())
			c := open(w.real.Client("reviewer"), func() (*sim.Kinds, error) { return kinds, nil })
			in := c.Resource(configMaps).Namespace("default")
			live, err := in.Get(w.ctx, "x", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			changed, err := w.apply(c, configMaps, strings.Replace(settings, `"1"`, `"2"`, 1))
			if err != nil {
				t.Fatal(err)
			}
			if got, _, _ := unstructured.NestedString(changed.Object, "data", "a"); got != "2" {
				t.Errorf("the answer has %q", got)
			}
			uid := live.GetUID()
			if err := in.Delete(w.ctx, "x", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}); err != nil {
				t.Error(err)
			}
			_, err = w.apply(c, configMaps, strings.Replace(settings, `"name":"x"`, `"name":"x","resourceVersion":"1"`, 1))
			if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
				t.Errorf("creating what exists is answered %v", err)
			}
			if _, err := in.Create(w.ctx, live, metav1.CreateOptions{}); err == nil {
				t.Error("a verb that the engine does not use is served")
			}
			if n := len(w.real.Writes()); n > before {
				t.Errorf("it wrote %v", w.real.Writes()[before:])
			}
			writes := w.recorder.Writes()
			if len(writes) != 3 || writes[0].Before == nil || writes[0].After == nil || !writes[1].Deletes() || writes[1].Before == nil || writes[2].Err == nil {
				t.Errorf("recorded: %+v", writes)
			}
		})
	}
}

// TestAWriteOnTopOfAWrite takes field ownership by a JSON patch, and then applies:
// the field that another manager has added goes, though the first is a dry run.
func TestAWriteOnTopOfAWrite(t *testing.T) {
	w, kinds := newWorld(t)
	if _, err := w.apply(w.real.Client("reconcel"), configMaps, settings); err != nil {
		t.Fatal(err)
	}
	foreign := []byte(`{"data":{"b":"2"}}`)
	if _, err := w.real.Client("someone").Resource(configMaps).Namespace("default").Patch(w.ctx, "x", types.MergePatchType, foreign, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	c := dryrun.New(w.real.Client("reviewer"), func() (*sim.Kinds, error) { return kinds, nil })
	in := c.Resource(configMaps).Namespace("default")
	live, err := in.Get(w.ctx, "x", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	owner := `[{"op":"replace","path":"/metadata/managedFields","value":[{"manager":"reconcel","operation":"Apply","apiVersion":"v1",` +
		`"fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:a":{},"f:b":{}}}}]},{"op":"test","path":"/metadata/resourceVersion","value":"` + live.GetResourceVersion() + `"}]`
	if _, err := in.Patch(w.ctx, "x", types.JSONPatchType, []byte(owner), metav1.PatchOptions{FieldManager: "reconcel"}); err != nil {
		t.Fatal(err)
	}
	after, err := w.apply(c, configMaps, settings)
	if err != nil {
		t.Fatal(err)
	}
	if data, _, _ := unstructured.NestedStringMap(after.Object, "data"); len(data) != 1 || data["a"] != "1" {
		t.Errorf("the data would be %v", data)
	}
}

// TestAChildOfANamespaceThatIsMadeFirst cannot be tried.
func TestAChildOfANamespaceThatIsMadeFirst(t *testing.T) {
	w, kinds := newWorld(t)
	c := dryrun.New(w.real.Client("reviewer"), func() (*sim.Kinds, error) { return kinds, nil })
	create := func(gvr runtimeschema.GroupVersionResource, namespace, body string) error {
		_, err := c.Resource(gvr).Namespace(namespace).Patch(w.ctx, "fresh", types.ApplyPatchType, []byte(body), metav1.PatchOptions{FieldManager: "reconcel"})
		return err
	}
	inside := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"fresh","namespace":"fresh","resourceVersion":"1"}}`
	if err := create(configMaps, "fresh", inside); !apierrors.IsNotFound(err) {
		t.Errorf("without its namespace: %v", err)
	}
	namespace := `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"fresh","resourceVersion":"1"}}`
	if err := create(runtimeschema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, "", namespace); err != nil {
		t.Fatal(err)
	}
	if err := create(configMaps, "fresh", inside); err != nil {
		t.Errorf("with it: %v", err)
	}
	writes := w.recorder.Writes()
	if last := writes[len(writes)-1]; !last.Unasked || last.After.GetNamespace() != "fresh" || last.After.GetResourceVersion() != "" {
		t.Errorf("recorded: %+v", last)
	}
}

// TestGuard sends requests as a client does that does not mean a dry run.
func TestGuard(t *testing.T) {
	var sent []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sent = append(sent, r.Method+" "+r.URL.RawQuery+" "+string(body))
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"}}`)
	}))
	defer server.Close()
	config := &rest.Config{Host: server.URL}
	config.Wrap(dryrun.Guard)
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	in, dry := client.Resource(pods).Namespace("default"), []string{metav1.DryRunAll}
	pod := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "x"}}}
	for name, write := range map[string]func(dryRun []string) error{
		"create": func(dryRun []string) error {
			_, err := in.Create(t.Context(), pod, metav1.CreateOptions{DryRun: dryRun})
			return err
		},
		"update": func(dryRun []string) error {
			_, err := in.Update(t.Context(), pod, metav1.UpdateOptions{DryRun: dryRun})
			return err
		},
		"patch": func(dryRun []string) error {
			_, err := in.Patch(t.Context(), "x", types.MergePatchType, []byte("{}"), metav1.PatchOptions{DryRun: dryRun})
			return err
		},
		"delete": func(dryRun []string) error {
			return in.Delete(t.Context(), "x", metav1.DeleteOptions{DryRun: dryRun})
		},
	} {
		sent = nil
		if err := write(nil); err == nil || len(sent) > 0 {
			t.Errorf("%s: %v; sent: %v", name, err, sent)
		}
		if err := write(dry); err != nil || len(sent) != 1 || !strings.Contains(sent[0], "dryRun=All") {
			t.Errorf("%s as a dry run: %v; sent: %v", name, err, sent)
		}
	}
	if _, err := in.Get(t.Context(), "x", metav1.GetOptions{}); err != nil {
		t.Errorf("get: %v", err)
	}
}
