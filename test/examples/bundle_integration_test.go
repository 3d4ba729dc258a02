//go:build integration

package examples

import (
	"encoding/json"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/test/devcluster"
	"reconcel/test/e2e"
)

// TestBundleExample runs the example without a primary, which the table of examples cannot
// describe, under exactly its generated permissions. It loses its ConfigMap and its process.
func TestBundleExample(t *testing.T) {
	t.Parallel()
	w := newWorld(t, example{name: "fan-in", setup: []string{"services.yaml"}, kept: []string{"namespaces"}}, e2e.Build(t), reserveCluster(t))
	w.enter()
	w.start(w.account.kubeconfig)
	want := counts(children{"IngressClass", 1, []string{"edge"}}, children{"Namespace", 1, []string{"edge"}},
		children{"Service", 2, []string{"shop-cart", "blog-posts"}}, children{"Ingress", 1, []string{"edge"}})
	w.eventually("all objects to be there", func() error { return want(w) })
	w.eventually("the bundle to be ready", w.bundleReady)
	before := w.settled()
	w.mendsDeletions(before)
	w.quiet(restTime)

	bundle, err := w.bundle()
	if err != nil {
		t.Fatal(err)
	}
	w.process.kill()
	w.remove(bundle)
	w.start(w.account.kubeconfig)
	w.eventually("a lost ConfigMap to come back", w.bundleReady)
	if err := w.is(before); err != nil {
		t.Error(err)
	}
	w.process.end()
	w.FlushAudit()
	if refused := w.refused(); len(refused) > 0 {
		t.Errorf("%d requests were forbidden: %v", len(refused), devcluster.Tally(refused))
	}
}

// bundle returns the ConfigMap of the bundle.
func (w *world) bundle() (*unstructured.Unstructured, error) {
	w.Helper()
	list, err := w.ResourceIn(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, metav1.NamespaceAll).
		List(w.Context(), metav1.ListOptions{LabelSelector: "reconcel.dev/bundle=fan-in"})
	if err != nil {
		return nil, err
	}
	if len(list.Items) != 1 {
		return nil, fmt.Errorf("there are %d ConfigMaps of the bundle", len(list.Items))
	}
	return &list.Items[0], nil
}

func (w *world) bundleReady() error {
	w.Helper()
	u, err := w.bundle()
	if err != nil {
		return err
	}
	report := struct{ Ready string }{}
	text := u.GetAnnotations()["reconcel.dev/status"]
	if err := json.Unmarshal([]byte(text), &report); err != nil || report.Ready != "True" {
		return fmt.Errorf("it reports %q", text)
	}
	return nil
}
