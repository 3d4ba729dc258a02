package infer_test

import (
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"

	"reconcel/rules"
	"reconcel/rules/check"
	"reconcel/rules/crd"
	"reconcel/rules/schema"
	"reconcel/rules/source"
)

// TestInferredCRDsAcceptTheExamples checks the resources of every example, and the rules
// themselves, against the CRDs of the rules.
func TestInferredCRDsAcceptTheExamples(t *testing.T) {
	accepted := 0
	for _, w := range everyRules(t) {
		t.Run(w.name, func(t *testing.T) {
			found := w.infer(t)
			set := inferredSet(t, w, found)
			loaded := rules.Compile([]source.File{w.rules})
			checked := check.Check(loaded.File, set, nil)
			for _, e := range checked.Warnings {
				t.Errorf("the rules are not strictly valid: %v", e)
			}
			for _, d := range found {
				object, err := d.Object()
				if err != nil {
					t.Fatal(err)
				}
				if flaws := schema.Flaws(object); len(flaws) > 0 {
					t.Errorf("%s: %v", d.GVK.Kind, flaws)
				}
			}
			for _, object := range objects(t, filepath.Join(root, "examples", w.name, "*.yaml")) {
				u := &unstructured.Unstructured{Object: object}
				kind := set.Kind(u.GroupVersionKind())
				if kind == nil || !kind.Custom || object["spec"] == nil { // An expected status is no resource.
					continue
				}
				accepted++
				for _, f := range set.Unknown(kind, object) {
					t.Errorf("%s/%s: unknown field %s", u.GetKind(), u.GetName(), f.Path)
				}
				set.Structure(kind).Default(object)
				s := set.Schema(kind.GVK)
				spec := s.Properties["spec"]
				for _, err := range validate.NewSchemaValidator(&spec, nil, "spec", strfmt.Default).Validate(object["spec"]).Errors {
					t.Errorf("%s/%s: %v", u.GetKind(), u.GetName(), err)
				}
			}
		})
	}
	if accepted < 20 {
		t.Errorf("only %d resources are checked", accepted)
	}
}

func inferredSet(t *testing.T, w written, found []*crd.Definition) *schema.Set {
	t.Helper()
	crds := make([]map[string]any, 0, len(found))
	for _, d := range found {
		object, err := d.Object()
		if err != nil {
			t.Fatal(err)
		}
		crds = append(crds, object)
	}
	set, err := w.set(t).With(crds)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestEveryUnknownFieldHasAComment(t *testing.T) {
	for _, w := range everyRules(t) {
		for _, d := range w.infer(t) {
			text, err := d.YAML()
			if err != nil {
				t.Fatal(err)
			}
			open := strings.Count(string(text), "x-kubernetes-preserve-unknown-fields: true")
			if comments := strings.Count(string(text), "# It"); comments < open {
				t.Errorf("%s: %d fields keep everything, %d comments say so", w.name, open, comments)
			}
		}
	}
}
