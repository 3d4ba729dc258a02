package reference

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/template"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"reconcel/rules"
	"reconcel/rules/schema"
	"reconcel/rules/source"
)

// pagesOf returns the pages of rules.
func pagesOf(t *testing.T, text string, crds ...map[string]any) []*Page {
	t.Helper()
	loaded := rules.Compile([]source.File{{Name: "rules.yaml", Data: []byte(text)}})
	if err := loaded.Errors.Err(); err != nil {
		t.Fatal(err)
	}
	set, err := schema.New(schema.Sources{CRDs: crds})
	if err != nil {
		t.Fatal(err)
	}
	from := Source{Loaded: loaded, Kinds: set, Definitions: map[runtimeschema.GroupKind]map[string]any{}}
	for _, crd := range crds {
		gk, err := schema.Defined(crd)
		if err != nil {
			t.Fatal(err)
		}
		from.Definitions[gk] = crd
	}
	pages, err := Pages(from, loaded.Program.Primaries())
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// written returns the document of pages.
func written(t *testing.T, pages []*Page) string {
	t.Helper()
	text, err := Write(pages)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// definitions returns the CRDs of the repository.
func definitions(t *testing.T) (crds []map[string]any) {
	t.Helper()
	paths, err := filepath.Glob("../../../crds/*.yaml")
	if err != nil || len(paths) < 20 {
		t.Fatalf("%d CRDs: %v", len(paths), err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var crd map[string]any
		if err := yaml.Unmarshal(text, &crd); err != nil {
			t.Fatal(err)
		}
		crds = append(crds, crd)
	}
	return crds
}

// TestTemplateIsFilledInAsByGo compares the pages of all examples with those of text/template.
func TestTemplateIsFilledInAsByGo(t *testing.T) {
	expected, err := template.New("").Funcs(template.FuncMap{"row": row}).Parse(pageTemplate)
	if err != nil {
		t.Fatal(err)
	}
	crds := definitions(t)
	paths, err := filepath.Glob("../../../examples/*/rules.yaml")
	if err != nil || len(paths) < 20 {
		t.Fatalf("%d examples: %v", len(paths), err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "for: cluster") {
			continue
		}
		pages := pagesOf(t, string(text), crds...)
		var want strings.Builder
		if err := expected.Execute(&want, document{len(pages) > 1, pages}); err != nil {
			t.Fatal(err)
		}
		if got := written(t, pages); got != strings.TrimSpace(want.String())+"\n" {
			t.Errorf("%s: got %s\nwant %s", path, got, want.String())
		}
	}
}
