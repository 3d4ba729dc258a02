package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/files"
	"reconcel/cli/internal/offline"
	"reconcel/rules"
	"reconcel/test/race"
)

// TestPagesAreComplete requires the page of every example to show every field of the spec,
// as the text of the CRD has them, and every child of the rules.
func TestPagesAreComplete(t *testing.T) {
	race.Skip(t)
	paths, err := filepath.Glob("../examples/*/rules.yaml")
	if err != nil || len(paths) < 20 {
		t.Fatalf("%d examples: %v", len(paths), err)
	}
	definitions := writtenDefinitions(t)
	fields, children := 0, 0
	for _, path := range paths {
		loaded, _ := offline.Load(files.Reader{}, []string{path})
		for _, p := range loaded.Program.Primaries() {
			if p.ForCluster() {
				continue
			}
			crd := definitions[p.GVK.Kind+"."+p.GVK.Group]
			page := pageOf(t, path, p.GVK.Kind)
			for _, field := range specFields(crd, p.GVK.Version) {
				fields++
				if !strings.Contains(page, "`"+field+"`") {
					t.Errorf("%s: the page of %s does not have the field %s", path, p.GVK.Kind, field)
				}
			}
			for _, r := range p.Rules {
				children += len(r.Children)
				missingChildren(t, page, r)
			}
		}
	}
	if fields < 90 || children < 40 {
		t.Errorf("only %d fields and %d children are checked", fields, children)
	}
}

func missingChildren(t *testing.T, page string, r *rules.Rule) {
	t.Helper()
	for _, c := range r.Children {
		heading := strings.Count(page, "\n### "+c.GVK.Kind+" `")
		if heading == 0 || !strings.Contains(page, "`"+c.ID+"`") {
			t.Errorf("rule %s: the page does not have %s %s", r.Name, c.GVK.Kind, c.ID)
		}
		if name := c.LiteralName(); name != "" && !strings.Contains(page, "\n### "+c.GVK.Kind+" `"+name+"`\n") {
			t.Errorf("rule %s: the page does not have the name %s", r.Name, name)
		}
	}
}

// pageOf returns the page of a kind.
func pageOf(t *testing.T, path, kind string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	a := &app{stdout: &stdout, stderr: &stderr}
	if code := a.main([]string{"docs", "-f", path, "--crd", "../crds", "--kind", kind}); code != exit.Yes {
		t.Fatalf("%s: exit code %d\n%s", path, code, &stderr)
	}
	return stdout.String()
}

// writtenDefinitions returns the CRDs of the repository by kind and group.
func writtenDefinitions(t *testing.T) map[string]map[string]any {
	t.Helper()
	paths, err := filepath.Glob("../crds/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]map[string]any{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var crd map[string]any
		if err := yaml.Unmarshal(text, &crd); err != nil {
			t.Fatal(err)
		}
		spec := mapIn(crd, "spec")
		found[mapIn(spec, "names")["kind"].(string)+"."+spec["group"].(string)] = crd
	}
	return found
}

// specFields returns the paths of the fields of a spec.
func specFields(crd map[string]any, version string) (paths []string) {
	versions, _ := mapIn(crd, "spec")["versions"].([]any)
	for _, v := range versions {
		if v := v.(map[string]any); v["name"] == version {
			addFields(&paths, "spec", mapIn(v, "schema", "openAPIV3Schema", "properties", "spec"))
		}
	}
	return paths
}

func addFields(paths *[]string, at string, schema map[string]any) {
	for name, property := range mapIn(schema, "properties") {
		*paths = append(*paths, at+"."+name)
		addFields(paths, at+"."+name, property.(map[string]any))
	}
	if items := mapIn(schema, "items"); items != nil {
		addFields(paths, at+"[]", items)
	}
	if values := mapIn(schema, "additionalProperties"); values != nil {
		addFields(paths, at+".<key>", values)
	}
}

func mapIn(m map[string]any, keys ...string) map[string]any {
	for _, key := range keys {
		m, _ = m[key].(map[string]any)
	}
	return m
}
