package schema

import (
	"slices"
	"testing"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/yaml"
)

var deployment = runtimeschema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}

func TestKubernetesOwnKinds(t *testing.T) {
	set := Builtin()
	k := set.Kind(deployment)
	if k == nil || k.Resource != "deployments" || !k.Namespaced || !k.Status || !k.Scale || k.Custom {
		t.Errorf("%+v", k)
	}
	namespace := set.Kind(runtimeschema.GroupVersionKind{Version: "v1", Kind: "Namespace"})
	if namespace == nil || namespace.Namespaced || !namespace.Status || namespace.Scale {
		t.Errorf("%+v", namespace)
	}
	if got := len(set.Kinds()); got < 50 {
		t.Errorf("%d kinds", got)
	}
	for _, k := range set.Kinds() {
		if set.Schema(k.GVK) == nil {
			t.Errorf("%s has no schema", k.GVK)
		}
	}
}

func TestReferencesLeadSomewhere(t *testing.T) {
	set := Builtin()
	for name, s := range set.Models(set.Kinds()...) {
		if set.Resolve(s) == nil {
			t.Errorf("%s refers to nothing", name)
		}
		for _, sub := range subschemas(s) {
			if set.Resolve(sub) == nil {
				t.Errorf("%s refers to %s, which is not there", name, Reference(sub))
			}
		}
	}
}

func TestResolve(t *testing.T) {
	set := Builtin()
	spec := set.Schema(deployment).Properties["spec"]
	if got := Reference(&spec); got != "io.k8s.api.apps.v1.DeploymentSpec" {
		t.Error(got)
	}
	s := set.Resolve(&spec)
	if s == nil || !slices.Equal(s.Required, []string{"selector", "template"}) {
		t.Errorf("%+v", s)
	}
}

const widgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {kind: Widget, plural: widgets}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          metadata:
            type: object
            properties: {name: {type: string, maxLength: 10}}
          spec:
            type: object
            properties: {size: {type: integer, default: 3}}
  - name: v1alpha1
    served: false
    storage: false
    schema: {openAPIV3Schema: {type: object}}
`

func decode(t *testing.T, text string) map[string]any {
	t.Helper()
	var out map[string]any
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestCustomKinds(t *testing.T) {
	set, err := New(Sources{CRDs: []map[string]any{decode(t, widgets)}})
	if err != nil {
		t.Fatal(err)
	}
	gvk := runtimeschema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
	k := set.Kind(gvk)
	if k == nil || k.Resource != "widgets" || k.Namespaced || !k.Status || k.Scale || !k.Custom || k.Definition != "com.example.v1.Widget" {
		t.Fatalf("%+v", k)
	}
	s := set.Schema(gvk)
	metadata := s.Properties["metadata"]
	name := metadata.Properties["name"]
	if _, ok := metadata.Properties["labels"]; !ok || name.MaxLength == nil || *name.MaxLength != 10 {
		t.Errorf("metadata: %+v", metadata)
	}
	if s.Properties["spec"].Properties["size"].Default == nil {
		t.Error("the default is lost")
	}
	if len(set.Versions(gvk.GroupKind())) != 1 {
		t.Error("a version that is not served is there")
	}
	if set.Kind(deployment) == nil {
		t.Error("Kubernetes' own kinds are gone")
	}
}

func TestWhatIsNoCRD(t *testing.T) {
	for _, text := range []string{
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}`,
		`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: x}, spec: {group: x.y}}`,
		`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: x}, spec: 1}`,
	} {
		if _, err := New(Sources{CRDs: []map[string]any{decode(t, text)}}); err == nil {
			t.Errorf("no error for %s", text)
		}
	}
}

const document = `{"openapi": "3.0.0", "paths": {
 "/apis/example.com/v1/namespaces/{namespace}/gadgets/{name}": {"get": {"x-kubernetes-group-version-kind": {"group": "example.com", "version": "v1", "kind": "Gadget"}}},
 "/apis/example.com/v1/namespaces/{namespace}/gadgets/{name}/status": {"get": {}}},
 "components": {"schemas": {"com.example.v1.Gadget": {"type": "object",
  "x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v1", "kind": "Gadget"}]}}}}`

func TestDocumentsOfACluster(t *testing.T) {
	set, err := New(Sources{OpenAPI: [][]byte{[]byte(document)}})
	if err != nil {
		t.Fatal(err)
	}
	k := set.Kind(runtimeschema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Gadget"})
	if k == nil || !k.Namespaced || !k.Status || k.Scale || k.Resource != "gadgets" {
		t.Errorf("%+v", k)
	}
	if _, err := New(Sources{OpenAPI: [][]byte{[]byte("x")}}); err == nil {
		t.Error("no error for nonsense")
	}
}

func TestModelsMakeATypeConverter(t *testing.T) {
	set, err := New(Sources{CRDs: []map[string]any{decode(t, widgets)}})
	if err != nil {
		t.Fatal(err)
	}
	models := set.Models(set.Kinds()...)
	if _, err := managedfields.NewTypeConverter(models, false); err != nil {
		t.Error(err)
	}
	few := set.Models(set.Kind(deployment))
	if len(few) < 50 || len(few) >= len(models) {
		t.Errorf("%d of %d models", len(few), len(models))
	}
}

// BenchmarkCold measures the first use of a kind.
func BenchmarkCold(b *testing.B) {
	for b.Loop() {
		s := newSource()
		s.addDocument(unpack[*Document](packed))
		set := &Set{layers: []*source{s}}
		set.Models(set.Kind(deployment))
	}
}

// TestDescriptions finds a description of nearly everything: Kubernetes lacks a few.
func TestDescriptions(t *testing.T) {
	set := Builtin()
	fields, described := 0, 0
	for name, s := range set.Models(set.Kinds()...) {
		for field := range s.Properties {
			fields++
			if Description(name, field) != "" {
				described++
			}
		}
	}
	if fields < 1000 || described*100 < fields*98 {
		t.Errorf("%d of %d fields have a description", described, fields)
	}
	if got := Description("io.k8s.api.apps.v1.Deployment", ""); got != "Deployment enables declarative updates for Pods and ReplicaSets." {
		t.Error(got)
	}
	if got := Description("com.example.Own", "spec"); got != "" {
		t.Error(got)
	}
}
