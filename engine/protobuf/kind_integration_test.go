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
	"sigs.k8s.io/yaml"

	"reconcel/engine/decode"
	"reconcel/internal/devcluster"
	"reconcel/internal/e2e"
	"reconcel/rules/projection"
)

// unusual are objects with fields that are empty, or encoded in their own way.
var unusual = []string{`
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: special}
`, `
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: special}
addressType: IPv4
endpoints: []
`, `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: special}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: special}
  maxReplicas: 3
  metrics:
  - type: Resource
    resource: {name: cpu, target: {type: AverageValue, averageValue: 0.5}}
`, `
apiVersion: v1
kind: Secret
metadata: {name: special}
data: {empty: "", some: AAEC/w==}
`, `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: special}
spec: {maxUnavailable: 50%, selector: {}}
`, `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: special, labels: {"a.b/c": ""}, annotations: {"d": "\u0001\"\\é"}}
spec:
  podSelector: {}
  ingress: [{}]
`, `
apiVersion: batch/v1
kind: CronJob
metadata: {name: special}
spec:
  schedule: "@yearly"
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers:
          - {name: a, image: b, resources: {limits: {cpu: 1500m, memory: 1.5Gi}}}
          volumes:
          - {name: c, emptyDir: {}}
          - {name: d, projected: {sources: [{serviceAccountToken: {path: e}}]}}
`}

// TestListsAreTheSameInBothFormats lists objects of all kinds that a cluster has, in JSON and in
// Protobuf.
func TestListsAreTheSameInBothFormats(t *testing.T) {
	w := e2e.New(t, devcluster.Shared(t))
	for _, text := range unusual {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Resource(o.GroupVersionKind()).Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	config := w.Cluster.Config()
	config.QPS = -1
	client, err := rest.UnversionedRESTClientFor(dynamic.ConfigFor(config))
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for gvk, resource := range listable(t, config) {
		kind := Of(gvk, projection.Whole())
		if kind == nil {
			continue
		}
		path := append([]string{"apis", kind.apiVersion}, resource)
		if gvk.Group == "" {
			path[0] = "api"
		}
		list := func(accept string) []byte {
			text, err := client.Get().AbsPath(path...).Param("limit", "100").SetHeader("Accept", accept).Do(t.Context()).Raw()
			if err != nil {
				t.Fatal(err)
			}
			return text
		}
		sent := list(kind.Accept())
		if !bytes.HasPrefix(sent, magic) {
			t.Errorf("%s is not sent in Protobuf: %.80q", gvk.Kind, sent)
		}
		got := states(t, decode.New(new(Reader).List(kind, bytes.NewReader(sent))))
		for version, want := range states(t, decode.New(bytes.NewReader(list(runtime.ContentTypeJSON)))) {
			if o, same := got[version]; same && !reflect.DeepEqual(o, want) {
				t.Errorf("%s: got %s\nwant %s", gvk.Kind, show(o), show(want))
			} else if same {
				compared++
			}
		}
	}
	if compared < 100 {
		t.Errorf("only %d objects were compared", compared)
	}
}

// states returns the objects of a list by UID and resourceVersion: between two lists, other clients
// may change some.
func states(t *testing.T, d *decode.Decoder) map[[2]any]any {
	t.Helper()
	list, err := d.Value(projection.Whole())
	if err != nil {
		t.Fatal(err)
	}
	found := map[[2]any]any{}
	items, _ := list.(map[string]any)["items"].([]any)
	for _, item := range items {
		metadata := item.(map[string]any)["metadata"].(map[string]any)
		found[[2]any{metadata["uid"], metadata["resourceVersion"]}] = item
	}
	return found
}

// listable returns the kinds that can be listed and watched, with their resources.
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
	for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "watch"}}, lists) {
		for _, r := range list.APIResources {
			found[schema.FromAPIVersionAndKind(list.GroupVersion, r.Kind)] = r.Name
		}
	}
	return found
}
