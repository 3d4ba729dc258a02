//go:build integration

package protobuf

import (
	"bytes"
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"reconcel/engine/decode"
	"reconcel/internal/devcluster"
	"reconcel/rules/projection"
)

// TestObjectsAreTheSameInBothFormats reads objects of all kinds that a cluster has, in JSON and in
// Protobuf.
func TestObjectsAreTheSameInBothFormats(t *testing.T) {
	config := devcluster.Shared(t).Config()
	config.QPS = -1
	client, err := rest.UnversionedRESTClientFor(dynamic.ConfigFor(config))
	if err != nil {
		t.Fatal(err)
	}
	kinds := 0
	for gvk, path := range listable(t, config) {
		kind := Of(gvk, projection.Whole())
		if kind == nil {
			continue
		}
		list, err := dynamic.New(client).Resource(gvk.GroupVersion().WithResource(path)).List(t.Context(), metav1.ListOptions{Limit: 20})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range list.Items {
			compareFormats(t, client, kind, path, &o)
		}
		if len(list.Items) > 0 {
			kinds++
		}
	}
	if kinds < 10 {
		t.Errorf("the cluster has objects of %d kinds only", kinds)
	}
}

// listable returns the kinds that can be listed, with their resources.
func listable(t *testing.T, config *rest.Config) map[schema.GroupVersionKind]string {
	t.Helper()
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	lists, err := client.ServerPreferredResources()
	if err != nil {
		t.Fatal(err)
	}
	found := map[schema.GroupVersionKind]string{}
	for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "get", "watch"}}, lists) {
		for _, r := range list.APIResources {
			found[schema.FromAPIVersionAndKind(list.GroupVersion, r.Kind)] = r.Name
		}
	}
	return found
}

// compareFormats reads one object twice. Another client may change it in between, so it tries
// again until both states have the same version.
func compareFormats(t *testing.T, client rest.Interface, kind *Kind, resource string, o *unstructured.Unstructured) {
	t.Helper()
	get := func(accept string) []byte {
		path := []string{"apis", kind.apiVersion}
		if kind.apiVersion == "v1" {
			path[0] = "api"
		}
		if o.GetNamespace() != "" {
			path = append(path, "namespaces", o.GetNamespace())
		}
		text, err := client.Get().AbsPath(append(path, resource, o.GetName())...).SetHeader("Accept", accept).Do(t.Context()).Raw()
		if err != nil {
			t.Logf("%s %s: %v", kind.kind, o.GetName(), err) // It may be deleted by now.
			return nil
		}
		return text
	}
	for range 10 {
		want, sent := get(runtime.ContentTypeJSON), get(runtime.ContentTypeProtobuf)
		if want == nil || sent == nil {
			return
		}
		if !bytes.HasPrefix(sent, magic) {
			t.Fatalf("%s is not sent in Protobuf: %.80q", kind.kind, sent)
		}
		wanted, err := decode.New(bytes.NewReader(want)).Value(projection.Whole())
		if err != nil {
			t.Fatal(err)
		}
		got, err := decode.New(new(Reader).Object(kind, bytes.NewReader(sent))).Value(projection.Whole())
		if err != nil {
			t.Fatalf("%s %s: %v", kind.kind, o.GetName(), err)
		}
		version := func(v any) any { return v.(map[string]any)["metadata"].(map[string]any)["resourceVersion"] }
		if version(got) != version(wanted) {
			continue
		}
		if !reflect.DeepEqual(got, wanted) {
			t.Errorf("%s %s: got %s\nwant %s", kind.kind, o.GetName(), show(got), show(wanted))
		}
		return
	}
	t.Errorf("%s %s changes all the time", kind.kind, o.GetName())
}
