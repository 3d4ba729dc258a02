//go:build integration

package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/test/devcluster"
	"reconcel/test/e2e"
)

// TestTheServerAcceptsDerivedCRDs creates the CRDs of all examples' rules, and then the
// resources of the examples, strictly and as a dry run.
func TestTheServerAcceptsDerivedCRDs(t *testing.T) {
	t.Parallel()
	cluster := devcluster.Start(t, devcluster.Options{Without: []string{"kwok"}})
	w := e2e.New(t, cluster)
	binary := e2e.Build(t)
	examples, err := filepath.Glob("../examples/*/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"crd", "--crd", "../crds"}
	for _, rules := range examples {
		args = append(args, "-f", rules)
	}
	text, err := exec.CommandContext(t.Context(), binary, args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	derived := map[schema.GroupVersionKind]bool{}
	for _, crd := range e2e.Parse(t, string(text)) {
		derived[definedBy(crd)] = true
		if _, err := w.Resource(crd.GroupVersionKind()).Create(t.Context(), crd, metav1.CreateOptions{FieldValidation: "Strict"}); err != nil {
			t.Errorf("%s: %v", crd.GetName(), err)
		}
	}
	if len(derived) < 18 {
		t.Fatalf("only %d kinds are derived", len(derived))
	}
	created := 0
	for _, rules := range examples {
		files, err := filepath.Glob(filepath.Dir(rules) + "/*.yaml")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if name := filepath.Base(file); name == "rules.yaml" || name == "tests.yaml" || name == "expected.yaml" || name == "observed.yaml" {
				continue
			}
			for _, u := range resourcesIn(t, file) {
				if !derived[u.GroupVersionKind()] {
					continue
				}
				created++
				dryRun(t, w, u)
			}
		}
	}
	if created < 18 {
		t.Errorf("only %d resources are created", created)
	}
}

// definedBy returns the only version of the kind that a CRD defines.
func definedBy(crd *unstructured.Unstructured) (kind schema.GroupVersionKind) {
	kind.Group, _, _ = unstructured.NestedString(crd.Object, "spec", "group")
	kind.Kind, _, _ = unstructured.NestedString(crd.Object, "spec", "names", "kind")
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	kind.Version, _, _ = unstructured.NestedString(versions[0].(map[string]any), "name")
	return kind
}

func resourcesIn(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return e2e.Parse(t, string(text))
}

// dryRun creates a resource as a dry run, once its kind is served.
func dryRun(t *testing.T, w *e2e.World, u *unstructured.Unstructured) {
	t.Helper()
	u.SetUID("")
	u.SetResourceVersion("")
	if u.GetNamespace() != "" {
		u.SetNamespace(w.Namespace)
	}
	deadline := time.Now().Add(30 * time.Second)
	e2e.Eventually(t, "the dry run of "+u.GetKind()+"/"+u.GetName(), time.Until(deadline), func() error {
		_, err := w.Resource(u.GroupVersionKind()).Create(t.Context(), u, metav1.CreateOptions{FieldValidation: "Strict", DryRun: []string{metav1.DryRunAll}})
		if err == nil || !strings.Contains(err.Error(), "could not find the requested resource") {
			if err != nil {
				t.Errorf("%s/%s: %v", u.GetKind(), u.GetName(), err)
			}
			return nil
		}
		return fmt.Errorf("not served yet: %w", err)
	})
}
