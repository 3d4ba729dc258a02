package rules

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"reconcel/rules/schema"
	"reconcel/rules/source"
)

// BenchmarkRenderExamples renders the resources of each example, for which no object exists
// yet.
func BenchmarkRenderExamples(b *testing.B) {
	folders, err := filepath.Glob("../examples/*/rules.yaml")
	if err != nil || len(folders) == 0 {
		b.Fatal(folders, err)
	}
	for _, path := range folders {
		folder := filepath.Dir(path)
		text, err := os.ReadFile(path)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(filepath.Base(folder), func(b *testing.B) {
			p, err := Load([]source.File{{Name: path, Data: text}})
			if err != nil {
				b.Fatal(err)
			}
			inputs := primariesIn(b, folder, p)
			if len(inputs) == 0 {
				b.Skip("no resources")
			}
			var out Rendering
			b.ReportAllocs()
			for b.Loop() {
				for self, primary := range inputs {
					primary.Render(Input{Self: self.Object}, &out)
				}
			}
		})
	}
}

// primariesIn returns the resources of a folder that rules select, as the API server has
// them: with the defaults of their kinds, and numbers as its clients decode them.
func primariesIn(b *testing.B, folder string, p *Program) map[*unstructured.Unstructured]*Primary {
	b.Helper()
	kinds := exampleKinds(b)
	files, err := filepath.Glob(folder + "/*.yaml")
	if err != nil {
		b.Fatal(err)
	}
	found := map[*unstructured.Unstructured]*Primary{}
	for _, file := range files {
		switch filepath.Base(file) {
		case "rules.yaml", "tests.yaml", "expected.yaml", "snapshot.yaml", "observed.yaml":
			continue
		}
		for _, o := range objectsIn(b, file) {
			for _, primary := range p.Primaries() {
				if primary.GVK == o.GroupVersionKind() {
					if k := kinds.Kind(primary.GVK); k != nil {
						kinds.Structure(k).Default(o.Object)
					}
					found[o] = primary
				}
			}
		}
	}
	return found
}

func exampleKinds(b *testing.B) *schema.Set {
	b.Helper()
	files, err := filepath.Glob("../crds/*.yaml")
	if err != nil || len(files) == 0 {
		b.Fatal(files, err)
	}
	var crds []map[string]any
	for _, file := range files {
		for _, o := range objectsIn(b, file) {
			crds = append(crds, o.Object)
		}
	}
	kinds, err := schema.New(schema.Sources{CRDs: crds})
	if err != nil {
		b.Fatal(err)
	}
	return kinds
}

func objectsIn(b *testing.B, file string) (all []*unstructured.Unstructured) {
	b.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		b.Fatal(err)
	}
	decoder := yaml.NewYAMLToJSONDecoder(bytes.NewReader(text))
	for {
		o := new(unstructured.Unstructured)
		switch err := decoder.Decode(o); {
		case errors.Is(err, io.EOF):
			return all
		case err != nil:
			b.Fatal(file, err)
		}
		all = append(all, o)
	}
}
