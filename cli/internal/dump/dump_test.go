package dump

import (
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules/schema"
	"reconcel/sim"
)

var configMaps = runtimeschema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

func newDump(t *testing.T, objects ...string) *Cluster {
	t.Helper()
	kinds, err := sim.NewKinds(schema.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	c := New(kinds)
	for _, text := range objects {
		if err := c.Add([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func configMap(namespace, name, more string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":%q,"name":%q%s}}`, namespace, name, more)
}

func TestReads(t *testing.T) {
	const label = `,"labels":{"a":"b"}`
	c := newDump(t, configMap("b", "x", label), `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"d"}}`, configMap("a", "z", label), configMap("a", "y", ""), configMap("a", "w", label), `{"apiVersion":"x.io/v1","kind":"None","metadata":{"name":"n"}}`)
	if err := c.Sort(); err != nil {
		t.Fatal(err)
	}
	list := func(namespace string, options metav1.ListOptions) string {
		var names []string
		for {
			page, err := c.Resource(configMaps).Namespace(namespace).List(t.Context(), options)
			if err != nil {
				t.Fatal(err)
			}
			for i := range page.Items {
				names = append(names, page.Items[i].GetNamespace()+"/"+page.Items[i].GetName())
			}
			if options.Continue = page.GetContinue(); options.Continue == "" {
				return strings.Join(names, " ")
			}
			names = append(names, "|")
		}
	}
	for _, test := range []struct{ got, want string }{
		{list("", metav1.ListOptions{}), "a/w a/y a/z b/x default/d"},
		{list("a", metav1.ListOptions{}), "a/w a/y a/z"},
		{list("", metav1.ListOptions{LabelSelector: "a=b"}), "a/w a/z b/x"},
		{list("", metav1.ListOptions{Limit: 2}), "a/w a/y | a/z b/x | default/d"},
		{list("", metav1.ListOptions{Limit: 2, LabelSelector: "a"}), "a/w a/z | b/x"},
		{strings.Join(c.Unknown(), ", "), "1 None (x.io/v1)"},
	} {
		if test.got != test.want {
			t.Errorf("got %q, want %q", test.got, test.want)
		}
	}
	u, err := c.Resource(configMaps).Namespace("a").Get(t.Context(), "z", metav1.GetOptions{})
	if err != nil || u.GetName() != "z" {
		t.Errorf("got %v, %v", u, err)
	}
	if _, err := c.Resource(configMaps).Namespace("a").Get(t.Context(), "x", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("got %v of a missing object", err)
	}
}

func TestMistakesInDumps(t *testing.T) {
	const ours = `,"labels":{"reconcel.dev/rule":"r"}`
	if n := newDump(t, configMap("a", "x", ours), configMap("a", "y", ours+`,"managedFields":[{"manager":"reconcel"}]`)).Unowned(); n != 1 {
		t.Errorf("%d children have no managedFields", n)
	}
	if err := newDump(t, configMap("a", "x", ""), configMap("a", "x", "")).Sort(); err == nil || !strings.Contains(err.Error(), "configmaps a/x is given twice") {
		t.Errorf("an object that is given twice: %v", err)
	}
	for _, text := range []string{`{"kind":"ConfigMap","apiVersion":"v1"}`, `{"metadata":{"name":"x"}}`} {
		if err := newDump(t).Add([]byte(text)); err == nil {
			t.Errorf("%s is accepted", text)
		}
	}
}

// TestObjectsThatPeopleWroteAreCompleted reads a resource that no cluster has stored.
func TestObjectsThatPeopleWroteAreCompleted(t *testing.T) {
	set, err := schema.New(schema.Sources{CRDs: []map[string]any{{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "sites.x.io"},
		"spec": map[string]any{"group": "x.io", "scope": "Namespaced", "names": map[string]any{"kind": "Site", "plural": "sites"},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{
				"type": "object", "properties": map[string]any{"spec": map[string]any{"type": "object", "default": map[string]any{},
					"properties": map[string]any{"size": map[string]any{"type": "integer", "default": int64(3)}}}}}}}}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	kinds, err := sim.NewKinds(set)
	if err != nil {
		t.Fatal(err)
	}
	c := New(kinds)
	for _, text := range []string{`{"apiVersion":"x.io/v1","kind":"Site","metadata":{"name":"written"},"spec":{"bogus":1}}`,
		`{"apiVersion":"x.io/v1","kind":"Site","metadata":{"name":"stored","namespace":"default","uid":"u","creationTimestamp":"2024-01-01T00:00:00Z"}}`} {
		if err := c.Add([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Sort(); err != nil {
		t.Fatal(err)
	}
	list, err := c.Resource(runtimeschema.GroupVersionResource{Group: "x.io", Version: "v1", Resource: "sites"}).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 2 {
		t.Fatal(list, err)
	}
	stored, written := list.Items[0], list.Items[1]
	if size, _, _ := unstructured.NestedInt64(written.Object, "spec", "size"); size != 3 || written.GetUID() == "" || written.Object["metadata"].(map[string]any)["creationTimestamp"] == nil || written.GetNamespace() != "default" ||
		len(written.Object["spec"].(map[string]any)) != 1 {
		t.Errorf("it is %v", written.Object)
	}
	if stored.Object["spec"] != nil || stored.GetUID() != "u" {
		t.Errorf("an object of a cluster is changed: %v", stored.Object)
	}
}
