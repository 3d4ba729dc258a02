package deploy_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"reconcel/deploy"
	"reconcel/rules"
	"reconcel/rules/schema"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
	"reconcel/sim"
)

// rulesDefinition is the CRD of Rules as an object.
func rulesDefinition(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	return parse(t, printed(t, []deploy.Manifest{deploy.RulesDefinition()}))[0]
}

func TestRulesDefinition(t *testing.T) {
	compare(t, "rulesdefinition.yaml", printed(t, []deploy.Manifest{deploy.RulesDefinition()}))
	crd := rulesDefinition(t)
	for _, flaw := range schema.Flaws(crd.Object) {
		t.Errorf("a flaw: %s", flaw)
	}
	r := rules.RulesResource
	if want := r.GroupResource().String(); crd.GetName() != want {
		t.Errorf("it is named %s, want %s", crd.GetName(), want)
	}
	text, err := json.Marshal(crd)
	if err != nil {
		t.Fatal(err)
	}
	// kubectl apply stores the CRD in an annotation, and the annotations of an object have 256 KiB together.
	if most := 200 << 10; len(text) > most {
		t.Errorf("the CRD has %d bytes, want at most %d", len(text), most)
	}
}

// TestRulesDefinitionHasEveryKey lets kubectl explain describe what reconcel explain describes.
func TestRulesDefinitionHasEveryKey(t *testing.T) {
	for _, path := range [][]string{
		{"define"}, {"rules"}, {"rules", "for", "kind"}, {"rules", "children", "onChange"}, {"rules", "children", "template", "metadata", "name"},
		{"rules", "children", "ignoreFields", "path"}, {"rules", "rollout"}, {"rules", "lookups", "selector", "matchLabels"},
		{"status", "conditions", "reason"},
	} {
		at := openAPI(t)
		for _, key := range path {
			if items, found := at["items"].(map[string]any); found {
				at = items
			}
			properties, _ := at["properties"].(map[string]any)
			at, _ = properties[key].(map[string]any)
		}
		if text, _ := at["description"].(string); text == "" {
			t.Errorf("%v is not described", path)
		}
	}
	properties := openAPI(t)["properties"].(map[string]any)
	for _, p := range syntax.Schema().Properties {
		if properties[p.Name] == nil {
			t.Errorf("a document may have %s, an object may not", p.Name)
		}
	}
}

// openAPI is the schema of Rules.
func openAPI(t *testing.T) map[string]any {
	t.Helper()
	versions, _, err := unstructured.NestedSlice(rulesDefinition(t).Object, "spec", "versions")
	if err != nil || len(versions) != 1 {
		t.Fatalf("%d versions: %v", len(versions), err)
	}
	s, _, err := unstructured.NestedMap(versions[0].(map[string]any), "schema", "openAPIV3Schema")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// asObjects returns the documents of the examples and of the language's test as objects of this and of a newer version:
// each map in them has one more key.
func asObjects(t *testing.T) (all []*unstructured.Unstructured) {
	t.Helper()
	files := []source.File{exampleRules(t, "../rules/syntax/testdata/good/language.yaml")}
	for _, sources := range examples(t) {
		files = append(files, sources...)
	}
	for _, file := range files {
		for _, u := range parse(t, file.Data) {
			if u.GetKind() != syntax.Kind {
				continue
			}
			for _, newer := range []bool{false, true} {
				u := decoded(t, u)
				if newer {
					widen(u.Object)
				}
				u.SetName(fmt.Sprintf("r%d", len(all)))
				u.SetNamespace("default")
				all = append(all, u)
			}
		}
	}
	if len(all) < 40 {
		t.Fatalf("there are only %d objects", len(all))
	}
	return all
}

// decoded returns an object as the API server decodes it: whole numbers are integers.
func decoded(t *testing.T, u *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	text, err := json.Marshal(u)
	if err != nil {
		t.Fatal(err)
	}
	out := &unstructured.Unstructured{}
	if err := out.UnmarshalJSON(text); err != nil {
		t.Fatal(err)
	}
	return out
}

// widen adds a key to each map of a document.
func widen(value any) {
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			widen(value[key])
		}
		value["laterKey"] = map[string]any{"a": []any{map[string]any{"b": int64(1)}}, "nothing": nil}
		value["laterNull"] = nil
	case []any:
		for _, item := range value {
			widen(item)
		}
	}
}

// content is an object without what the API server sets.
func content(u *unstructured.Unstructured) map[string]any {
	out := runtime.DeepCopyJSON(u.Object)
	delete(out, "metadata")
	return out
}

// TestOlderDefinitionKeepsWhatNewerRulesHave loses no key: without it, a rule would mean something else, such as that a
// database is deleted.
func TestOlderDefinitionKeepsWhatNewerRulesHave(t *testing.T) {
	crd := rulesDefinition(t)
	set, err := schema.New(schema.Sources{CRDs: []map[string]any{crd.Object}})
	if err != nil {
		t.Fatal(err)
	}
	kinds, err := sim.NewKinds(set)
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := sim.New(sim.Options{Kinds: kinds})
	if err != nil {
		t.Fatal(err)
	}
	client := cluster.Client("kubectl")
	crds := apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")
	if _, err := client.Resource(crds).Create(t.Context(), crd, metav1.CreateOptions{}); err != nil {
		t.Fatalf("the CRD is rejected: %v", err)
	}
	there := client.Resource(rules.RulesResource).Namespace("default")
	for _, u := range asObjects(t) {
		got, err := there.Create(t.Context(), u, metav1.CreateOptions{FieldValidation: "Strict"})
		if err != nil {
			t.Errorf("create: %v", err)
			continue
		}
		want := content(u)
		want["status"] = map[string]any{"observedGeneration": int64(-1)} // For kstatus, until reconcel has written it.
		if diff := cmp.Diff(want, content(got)); diff != "" {
			t.Errorf("create (-want +got):\n%s", diff)
		}
		applied := u.DeepCopy()
		applied.SetName(u.GetName() + "-applied")
		got, err = there.Apply(t.Context(), applied.GetName(), applied, metav1.ApplyOptions{FieldManager: "flux"})
		if err != nil {
			t.Errorf("apply: %v", err)
			continue
		}
		if diff := cmp.Diff(want, content(got)); diff != "" {
			t.Errorf("apply (-want +got):\n%s", diff)
		}
	}
}

// TestAPIServersOwnPruning lets the API server's packages read the same objects.
func TestAPIServersOwnPruning(t *testing.T) {
	var v1 apiextensionsv1.CustomResourceDefinition
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(rulesDefinition(t).Object, &v1); err != nil {
		t.Fatal(err)
	}
	var internal apiextensions.CustomResourceDefinition
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(&v1, &internal, nil); err != nil {
		t.Fatal(err)
	}
	of := internal.Spec.Validation
	structural, err := structuralschema.NewStructural(of.OpenAPIV3Schema)
	if err != nil {
		t.Fatal(err)
	}
	validator, _, err := validation.NewSchemaValidator(of.OpenAPIV3Schema)
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range asObjects(t) {
		got := u.DeepCopy()
		pruning.Prune(got.Object, structural, true)
		defaulting.PruneNonNullableNullsWithoutDefaults(got.Object, structural)
		if diff := cmp.Diff(u.Object, got.Object); diff != "" {
			t.Errorf("pruned (-want +got):\n%s", diff)
		}
		if errs := validation.ValidateCustomResource(nil, got.Object, validator); len(errs) > 0 {
			t.Errorf("%s: %v", filepath.Base(u.GetName()), errs.ToAggregate())
		}
	}
}

// TestRulesObjectOfAWrongType is rejected only where no version could mean something by it.
func TestRulesObjectOfAWrongType(t *testing.T) {
	rule := openAPI(t)["properties"].(map[string]any)["rules"].(map[string]any)["items"].(map[string]any)["properties"].(map[string]any)
	for key, want := range map[string]string{"name": "string", "children": "array", "allow": "object", "for": "", "patch": "object"} {
		if got, _ := rule[key].(map[string]any)["type"].(string); got != want {
			t.Errorf("%s has the type %q, want %q", key, got, want)
		}
	}
}
