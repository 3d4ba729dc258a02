package deploy_test

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"reconcel/deploy"
	"reconcel/rules"
	"reconcel/rules/schema"
	"reconcel/rules/source"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata")

var options = deploy.Options{Name: "reconcel", Namespace: "reconcel-system", Image: "registry.example.com/reconcel:1", Replicas: 1}

// compare compares output with a golden file in testdata.
func compare(t *testing.T, file string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", file)
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got; go test ./deploy -update takes it over):\n%s", path, diff)
	}
}

func program(t *testing.T, sources ...source.File) *rules.Program {
	t.Helper()
	p, err := rules.Load(sources)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// exampleRules reads the rules file of an example.
func exampleRules(t *testing.T, path string) source.File {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return source.File{Name: path, Data: data}
}

func parse(t *testing.T, text []byte) (all []*unstructured.Unstructured) {
	t.Helper()
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		u := &unstructured.Unstructured{}
		err := decoder.Decode(&u.Object)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		all = append(all, u)
	}
}

// kinds are Kubernetes' own kinds and those of the examples.
func kinds(t *testing.T) *schema.Set {
	t.Helper()
	files, err := filepath.Glob("../crds/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no CRDs: %v", err)
	}
	var crds []map[string]any
	for _, file := range files {
		for _, u := range parse(t, exampleRules(t, file).Data) {
			crds = append(crds, u.Object)
		}
	}
	set, err := schema.New(schema.Sources{CRDs: crds})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// needs derives the permissions of valid rules.
func needs(t *testing.T, admission deploy.Admission, sources ...source.File) *deploy.Permissions {
	t.Helper()
	p, complaints := deploy.Needs(program(t, sources...), kinds(t), admission)
	if len(complaints) > 0 {
		t.Fatal(complaints)
	}
	return p
}

func printed(t *testing.T, all []deploy.Manifest) []byte {
	t.Helper()
	out, err := deploy.Print(all)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
