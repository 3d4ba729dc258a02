package scaffold

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/cli/internal/files"
)

var update = flag.Bool("update", false, "rewrite the expected files in testdata")

// made returns the project that is made of a folder or file of manifests.
func made(t *testing.T, path string, o Options) (*Project, error) {
	t.Helper()
	objects, err := files.Reader{}.Objects([]string{path})
	if err != nil {
		t.Fatal(err)
	}
	var manifests []*unstructured.Unstructured
	for _, u := range objects {
		manifests = append(manifests, &u.Unstructured)
	}
	o.Source = filepath.ToSlash(path)
	if o.Kind.Kind == "" {
		o.Kind = schema.GroupVersionKind{Group: "example.com", Version: "v1alpha1", Kind: "WebApp"}
	}
	return New(manifests, o)
}

// TestFiles pins all files that are made of a shop with a database.
func TestFiles(t *testing.T) {
	p, err := made(t, "testdata/shop/manifests.yaml", Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range p.Files {
		path := filepath.Join("testdata/shop/want", f.Name)
		if *update {
			if err := os.WriteFile(path, f.Data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(f.Data, want) {
			t.Errorf("%s is:\n%s\nexpected:\n%s", f.Name, f.Data, want)
		}
	}
}
