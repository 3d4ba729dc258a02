package ecosystem

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"reconcel/deploy"
	"reconcel/rules"
	"reconcel/rules/schema"
	"reconcel/rules/source"
)

// parse returns the objects of a stream by kind, namespace and name.
func parse(t *testing.T, stream []byte) map[string]any {
	t.Helper()
	all := map[string]any{}
	for decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(string(stream)), 4096); ; {
		u := unstructured.Unstructured{}
		err := decoder.Decode(&u.Object)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, stream)
		}
		if len(u.Object) > 0 {
			all[fmt.Sprintf("%s/%s/%s", u.GetKind(), u.GetNamespace(), u.GetName())] = u.Object
		}
	}
}

func printed(t *testing.T, all []deploy.Manifest) []byte {
	t.Helper()
	text, err := deploy.Print(all)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// writeChart writes a chart into a folder of the test.
func writeChart(t *testing.T, o deploy.Options, permissions []deploy.Manifest, rules []deploy.RulesFile) string {
	t.Helper()
	files, err := o.Chart(permissions, rules)
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "reconcel")
	for path, text := range files {
		file := filepath.Join(folder, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// An example is a compiled rules file.
type example struct {
	program *rules.Program
	files   []deploy.RulesFile
}

func readExample(t *testing.T, file string) example {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	sources := []source.File{{Name: file, Data: data}}
	if strings.Contains(file, "/chain/") { // It refers to the rules of another example.
		sources = append(sources, source.File{Name: "../../examples/webapp/rules.yaml", Data: readFile(t, "../../examples/webapp/rules.yaml")})
	}
	program, err := rules.Load(sources)
	if err != nil {
		t.Fatal(err)
	}
	files, err := deploy.Files(sources)
	if err != nil {
		t.Fatal(err)
	}
	return example{program, files}
}

func readFile(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// readKinds returns Kubernetes' own kinds and those of the examples.
func readKinds(t *testing.T) *schema.Set {
	t.Helper()
	files, err := filepath.Glob("../../crds/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no CRDs: %v", err)
	}
	var crds []map[string]any
	for _, file := range files {
		for _, object := range slices.Collect(maps.Values(parse(t, readFile(t, file)))) {
			crds = append(crds, object.(map[string]any))
		}
	}
	set, err := schema.New(schema.Sources{CRDs: crds})
	if err != nil {
		t.Fatal(err)
	}
	return set
}
