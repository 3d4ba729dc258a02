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

// primariesIn returns the resources of a folder that rules select.
func primariesIn(b *testing.B, folder string, p *Program) map[*unstructured.Unstructured]*Primary {
	b.Helper()
	files, err := filepath.Glob(folder + "/*.yaml")
	if err != nil {
		b.Fatal(err)
	}
	found := map[*unstructured.Unstructured]*Primary{}
	for _, file := range files {
		switch filepath.Base(file) {
		case "rules.yaml", "tests.yaml", "expected.yaml", "snapshot.yaml":
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			b.Fatal(err)
		}
		decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
		for {
			o := new(unstructured.Unstructured)
			if err := decoder.Decode(&o.Object); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				b.Fatal(err)
			}
			for _, primary := range p.Primaries() {
				if primary.GVK == o.GroupVersionKind() {
					found[o] = primary
				}
			}
		}
	}
	return found
}
