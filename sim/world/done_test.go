package world_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules"
)

// TestDoneOutlivesTheFinalizer has a rule that needs its finalizer for a while. What it has done before is not done again
// when the finalizer is gone.
func TestDoneOutlivesTheFinalizer(t *testing.T) {
	once := strings.Replace(configMap("a"), "    template", "    onChange: once\n    template", 1)
	far := strings.Replace(configMap("b"), "metadata: {", "metadata: {namespace: far, ", 1)
	far = strings.Replace(far, "    template", "    when: self.spec.replicas > 1\n    template", 1)
	w := load(t, "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n"+fooRule("one", "  allow: {namespaces: [far]}\n", once, far))
	namespace := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "far"}}}
	if _, err := w.Cluster().Put(namespace); err != nil {
		t.Fatal(err)
	}
	put(t, w, "../../examples/foo/foo.yaml")
	merge(t, w, []byte(`{"spec":{"replicas":2}}`))
	foo := func() *unstructured.Unstructured { return w.Cluster().Find(fooKind, "default", "example-foo") }
	if foo().GetAnnotations()[rules.DonePrefix+"one"] == "" || len(foo().GetFinalizers()) == 0 {
		t.Fatalf("the Foo has the finalizers %q and the annotations %q", foo().GetFinalizers(), foo().GetAnnotations())
	}
	configs := w.Cluster().Client("someone").Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace("default")
	if err := configs.Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	settle(t, w)
	merge(t, w, []byte(`{"spec":{"replicas":1}}`))
	if len(foo().GetFinalizers()) > 0 {
		t.Fatalf("the Foo still has the finalizers %q", foo().GetFinalizers())
	}
	if err := w.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	settle(t, w)
	if got := configMaps(w); got != "" {
		t.Errorf("there are %q: what was done is done again", got)
	}
}
